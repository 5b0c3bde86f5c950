"""Reading, following and writing, against an API server that is played."""

from typing import Any, cast

import pytest

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.clock import SYSTEM_CLOCK
from kube_runtime.errors import Conflict, NotFound
from kube_runtime.required_crds import MissingCrd
from kube_runtime.resource import Json, Key, Resource
from levelset.rollout import following, reading
from levelset.rollout.changes import Change, pause
from levelset.rollout.errors import NoSuchRollout, RolloutFailed, WaitedInVain
from levelset.rollout.lines import Lines
from levelset.rollout.writing import write

KEY = Key("shop", "web")


def rollout(version: int = 1, *, uid: str = "u1", updated: int = 0) -> Json:
    counts = {"updatedReplicas": updated, "replicas": updated, "availableReplicas": updated}
    return {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": uid,
            "resourceVersion": str(version),
            "generation": 1,
        },
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"observedGeneration": 1} | counts,
    }


class Server:
    """Gives one look after the other, the last one for ever; None is not found."""

    server = "https://cluster.example"

    def __init__(self, *looks: Json | None, conflicts: int = 0, has_kind: bool = True) -> None:
        self._looks = list(looks)
        self._conflicts = conflicts
        self._has_kind = has_kind
        self.written: list[Any] = []

    async def get(self, resource: Resource, name: str, *, namespace: str) -> Json:
        look = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        if look is None:
            raise NotFound(404, "NotFound", f"{namespace}/{name} of {resource}")
        return look

    async def patch(self, resource: Resource, name: str, body: Any, **more: Any) -> Json:
        assert more["type"] is PatchType.JSON
        if len(self.written) < self._conflicts:
            self.written.append(None)
            raise Conflict(409, "Conflict", f"{name} of {resource}")
        self.written.append(body)
        return {}

    async def request(self, method: str, path: str) -> Json:
        assert method == "GET"
        if not self._has_kind:
            raise NotFound(404, "NotFound", path)
        if path.endswith("v1alpha1"):
            return {"resources": [{"name": "rollouts", "kind": "Rollout"}]}
        return {"versions": [{"version": "v1alpha1"}]}


def api(server: Server) -> ApiClient:
    return cast("ApiClient", server)


@pytest.mark.parametrize(
    ("server", "error", "said"),
    [
        (Server(None), NoSuchRollout, "\"web\" not found in namespace 'shop'"),
        (Server(None, has_kind=False), MissingCrd, "kubectl apply --server-side -f deploy/crds"),
    ],
)
async def test_a_rollout_that_is_not_there_is_told_from_a_kind_that_is_not(
    server: Server, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        await reading.read(api(server), KEY)

    assert said in str(caught.value)


async def follow(server: Server, **more: Any) -> list[str]:
    written: list[str] = []
    await following.follow(api(server), KEY, Lines(written.append), clock=SYSTEM_CLOCK, **more)
    return written


async def test_following_ends_when_it_is_done() -> None:
    written = await follow(Server(rollout(updated=0), rollout(updated=1)))

    assert written[-1] == 'rollout "web" successfully rolled out'
    assert len(written) == 2


@pytest.mark.parametrize("second", [None, rollout(uid="u2")])
async def test_following_ends_when_the_object_is_gone_or_another(second: Json | None) -> None:
    with pytest.raises(RolloutFailed, match="object has been deleted"):
        await follow(Server(rollout(), second))


async def test_following_ends_with_its_time() -> None:
    with pytest.raises(WaitedInVain, match="timed out waiting for the condition"):
        await follow(Server(rollout()), timeout_seconds=0.05)


async def plan(raw: Json) -> Change:
    return pause(raw)


async def test_a_change_is_planned_anew_when_somebody_wrote_in_between() -> None:
    server = Server(rollout(1), rollout(2), rollout(3), conflicts=2)

    change = await write(api(server), KEY, plan)

    assert change.said == "paused"
    assert server.written[-1][0]["value"] == "3"


async def test_a_change_that_never_comes_through_is_given_up() -> None:
    server = Server(rollout(1), conflicts=10_000)

    with pytest.raises(Conflict):
        await write(api(server), KEY, plan)

    assert len(server.written) < 100

"""Which pod a command goes to, which logs there are, and how their lines come together."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kube_runtime.resource import Json
from levelset.rollout import choosing
from levelset.rollout.errors import NoPod
from levelset.rollout.history import Revision
from levelset.rollout.log_sources import Source, Wish, lines_of, merged, sources_of

HISTORY = [
    Revision(number, {"metadata": {"name": name}})
    for number, name in ((1, "web-a"), (2, "web-b"), (3, "web-c"))
]


def pod(
    name: str,
    podset: str = "web-c",
    *,
    ready: bool = True,
    phase: str = "Running",
    statuses: list[Json] | None = None,
    **metadata: Any,
) -> Json:
    owner = {"apiVersion": "v1", "kind": "PodSet", "name": podset, "uid": podset}
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "ownerReferences": [owner | {"controller": True}],
        }
        | metadata,
        "spec": {
            "containers": [{"name": "web"}, {"name": "sidecar"}],
            "initContainers": [{"name": "setup"}],
        },
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": statuses or [],
        },
    }


def running(name: str = "web", *, start: str = "c1") -> Json:
    return {"name": name, "containerID": start, "state": {"running": {}}}


def waiting(name: str = "web", reason: str = "ContainerCreating") -> Json:
    return {"name": name, "state": {"waiting": {"reason": reason}}}


@pytest.mark.parametrize(
    ("pods", "chosen", "note"),
    [
        ([pod("old", "web-b"), pod("new")], "new", ""),
        (
            [pod("old", "web-b"), pod("new", ready=False)],
            "old",
            "no pod of the newest revision is ready: old is of revision 2",
        ),
        (
            [pod("older", "web-a"), pod("old", "web-b")],
            "old",
            "no pod of the newest revision is ready: old is of revision 2",
        ),
        ([pod("new", ready=False)], "new", "no pod is ready: new only runs"),
        ([pod("going", deletionTimestamp="now"), pod("stays")], "stays", ""),
    ],
)
def test_a_command_goes_to_a_ready_pod_of_the_newest_revision(
    pods: list[Json], chosen: str, note: str
) -> None:
    choice = choosing.pod_for_exec("web", pods, HISTORY, newest="web-c")

    assert (choice.pod, choice.note) == (chosen, note)


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        ([], 'rollout "web" has no running pod'),
        (
            [pod("new", phase="Pending", statuses=[waiting(reason="ErrImagePull")])],
            "pod/new container web: ErrImagePull",
        ),
        ([pod("new", phase="Pending")], "1 pending or ending"),
    ],
)
def test_without_a_running_pod_it_is_said_why(pods: list[Json], said: str) -> None:
    with pytest.raises(NoPod) as caught:
        choosing.pod_for_exec("web", pods, HISTORY, newest="web-c")

    assert said in str(caught.value)


def test_the_default_container_is_the_annotated_one_else_the_first() -> None:
    annotated = {"kubectl.kubernetes.io/default-container": "sidecar"}

    assert choosing.default_container(pod("a")) == "web"
    assert choosing.default_container(pod("a", annotations=annotated)) == "sidecar"


def test_only_what_has_started_has_a_log_and_the_oldest_pod_comes_first() -> None:
    pods = [
        pod("b", statuses=[running()], creationTimestamp="2026-11-30T12:00:01Z"),
        pod("a", statuses=[running()], creationTimestamp="2026-11-30T12:00:02Z"),
        pod("c", statuses=[waiting()]),
    ]

    assert [source.pod for source in sources_of(pods, Wish())] == ["b", "a"]


def test_all_containers_are_read_when_asked() -> None:
    pods = [pod("a", statuses=[running(), running("sidecar")])]

    found = sources_of(pods, Wish(all_containers=True))

    assert [source.container for source in found] == ["web", "sidecar"]


def test_each_start_of_a_container_is_a_log_of_its_own() -> None:
    first = sources_of([pod("a", statuses=[running(start="c1")])], Wish())
    second = sources_of([pod("a", statuses=[running(start="c2")])], Wish())

    assert first != second


def test_the_previous_log_is_that_of_the_start_before() -> None:
    again = running() | {"lastState": {"terminated": {"containerID": "c0"}}}
    pods = [pod("a", statuses=[again]), pod("b", statuses=[running()])]

    assert [source.pod for source in sources_of(pods, Wish(is_previous=True))] == ["a"]


def test_between_two_starts_the_log_of_the_last_one_is_read() -> None:
    looping = waiting(reason="CrashLoopBackOff") | {
        "lastState": {"terminated": {"containerID": "c0"}}
    }

    assert sources_of([pod("a", statuses=[looping])], Wish())


def test_a_container_that_no_pod_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(NoPod, match="'db' is in none of the pods; there are: setup, web, sidecar"):
        sources_of([pod("a")], Wish(container="db"))


def test_what_is_asked_of_the_server_is_what_was_wished() -> None:
    source = Source("shop", "web-x", "web")
    wish = Wish(is_following=True, has_timestamps=True, tail=5, since_seconds=60)

    assert source.path == "/api/v1/namespaces/shop/pods/web-x/log"
    assert source.params(wish) == {
        "container": "web",
        "follow": "true",
        "timestamps": "true",
        "tailLines": "5",
        "sinceSeconds": "60",
    }


def test_a_pod_that_comes_later_is_told_from_its_beginning() -> None:
    wish = Wish(is_following=True, tail=5, since_seconds=60)

    params = Source("shop", "web-x", "web").params(wish, is_new=True)

    assert params == {"container": "web", "follow": "true"}


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def test_chunks_become_lines_wherever_they_are_cut() -> None:
    lines = [line async for line in lines_of(stream(b"a\nb", b"c\n", b"\n", b"end"))]

    assert lines == [b"a\n", b"bc\n", b"\n", b"end\n"]


async def test_lines_of_several_pods_are_in_order_of_time() -> None:
    one = stream(b"2026-11-30T12:00:01.000000001Z a1\n", b"2026-11-30T12:00:03Z a2\n")
    two = stream(b"2026-11-30T12:00:02.5Z b1\n", b"not a time\n", b"2026-11-30T12:00:04Z b2\n")
    logs = [(Source("s", "a", "c"), one), (Source("s", "b", "c"), two)]

    told = [(source.pod, text) async for source, _, text in merged(logs)]

    assert told == [
        ("a", b"a1\n"),
        ("b", b"b1\n"),
        ("b", b"not a time\n"),
        ("a", b"a2\n"),
        ("b", b"b2\n"),
    ]


async def test_a_time_is_given_back_as_it_came() -> None:
    stamp = b"2026-11-30T12:00:01.123456789Z "

    ((_, given, text),) = [
        each async for each in merged([(Source("s", "a", "c"), stream(stamp + b"x\n"))])
    ]

    assert (given, text) == (stamp, b"x\n")

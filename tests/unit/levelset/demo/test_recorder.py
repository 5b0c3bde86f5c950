"""The recorder counts pods by revision and by how far they are."""

from kube_runtime.resource import Json
from levelset.demo.recorder import LEAVING, READY, STARTING, Moment, count_pods, phase_of

DIGEST = f"sha256:{'a' * 64}"


def pod(*, ready: bool = False, leaving: bool = False, digest: str = DIGEST) -> Json:
    metadata = {"name": "web-1", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    if not leaving:
        del metadata["deletionTimestamp"]
    return {
        "metadata": metadata,
        "spec": {"containers": [{"image": f"registry.test/web@{digest}"}]},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_a_pod_that_is_being_deleted_is_leaving_even_while_it_is_ready() -> None:
    assert phase_of(pod(ready=True, leaving=True)) == LEAVING


def test_a_pod_without_a_status_is_starting() -> None:
    assert phase_of({"metadata": {"name": "new"}}) == STARTING


def test_pods_are_counted_by_what_people_call_their_digest() -> None:
    other = f"sha256:{'b' * 64}"
    pods = [pod(ready=True), pod(ready=True), pod(), pod(digest=other)]

    counted = count_pods(pods, {DIGEST: "v1"})

    assert counted == {("v1", READY): 2, ("v1", STARTING): 1, (other[:19], STARTING): 1}


def test_a_moment_counts_a_phase_over_all_revisions() -> None:
    moment = Moment(0.0, {("v1", READY): 3, ("v2", READY): 1, ("v2", STARTING): 1})

    assert moment.count(READY) == 4

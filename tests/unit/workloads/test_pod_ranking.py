"""Which pods go first when there are too many."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.resource import Uid
from workloads.pods import Pod
from workloads.podset.ranking import deletion_key, rank_for_deletion

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def pod(name: str, **facts: object) -> Pod:
    defaults: dict[str, object] = {
        "node": "n1",
        "phase": "Running",
        "ready_since": NOW - timedelta(hours=1),
        "created": NOW - timedelta(hours=2),
    }
    return Pod(name=name, uid=Uid(name), labels={}, **(defaults | facts))  # type: ignore[arg-type]  # facts by name


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod("z", node=""), pod("a", node="n1", phase="Pending", ready_since=None)),
        (pod("z", phase="Pending", ready_since=None), pod("a", phase="Unknown")),
        (pod("z", phase="Unknown"), pod("a", ready_since=None)),
        (pod("z", ready_since=None), pod("a", deletion_cost=-5)),
        (pod("z", ready_since=None), pod("a", node="cordoned")),
        (pod("z", node="cordoned", deletion_cost=9), pod("a", deletion_cost=-5)),
        (pod("z", is_disruption_target=True), pod("a", deletion_cost=-5)),
        (pod("z", deletion_cost=-5), pod("a")),
        (pod("z", deletion_cost=4), pod("a", deletion_cost=5)),
        (pod("z", node="crowded"), pod("a", ready_since=NOW - timedelta(seconds=1))),
        (pod("z", ready_since=NOW - timedelta(seconds=1)), pod("a", restarts=9)),
        (pod("z", restarts=2), pod("a", restarts=1)),
        (pod("z", sidecar_restarts=2), pod("a", sidecar_restarts=1)),
        (pod("z", created=NOW - timedelta(seconds=9)), pod("a")),
        (pod("a"), pod("b", created=NOW - timedelta(hours=2, seconds=1))),
    ],
    ids=[
        "unassigned before assigned",
        "Pending before Unknown",
        "Unknown before Running",
        "not ready before ready",
        "not ready before cordoned",
        "cordoned before cheap",
        "about to be evicted before cheap",
        "lower cost first",
        "lower positive cost first",
        "crowded node first",
        "shorter ready first",
        "more restarts first",
        "more sidecar restarts first",
        "younger first",
        "lower UID when the ages are of one size",
    ],
)
def test_the_pod_that_is_missed_least_goes_first(first: Pod, second: Pod) -> None:
    related = {"crowded": 5, "n1": 1}

    ranked = rank_for_deletion(
        [second, first],
        related_on_node=related,
        disrupted_nodes=frozenset({"cordoned"}),
        now=NOW,
    )

    assert [entry.name for entry in ranked] == [first.name, second.name]


def test_not_ready_pods_are_not_compared_by_their_readiness_time() -> None:
    restarted = pod("z", ready_since=None, restarts=3)

    assert (
        rank_for_deletion([pod("a", ready_since=None), restarted], related_on_node={}, now=NOW)[0]
        is restarted
    )


PODS = st.lists(
    st.builds(
        Pod,
        name=st.just("p"),
        uid=st.uuids().map(lambda uid: Uid(str(uid))),
        labels=st.just({}),
        node=st.sampled_from(["", "n1", "n2"]),
        phase=st.sampled_from(["Pending", "Running", "Unknown", "Weird"]),
        ready_since=st.none() | st.integers(-5, 10**6).map(lambda s: NOW - timedelta(seconds=s)),
        created=st.none() | st.integers(-5, 10**6).map(lambda s: NOW - timedelta(seconds=s)),
        restarts=st.integers(0, 3),
        deletion_cost=st.integers(-3, 3),
    ),
    max_size=8,
)


@given(PODS, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_the_input(
    pods: list[Pod], random_source: object
) -> None:
    shuffled = list(pods)
    random_source.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis' Random

    assert [entry.uid for entry in rank_for_deletion(pods, related_on_node={"n1": 2}, now=NOW)] == [
        entry.uid for entry in rank_for_deletion(shuffled, related_on_node={"n1": 2}, now=NOW)
    ]


@given(PODS)
def test_every_pod_has_its_own_place(pods: list[Pod]) -> None:
    assert len({deletion_key(entry, {}, NOW) for entry in pods}) == len(pods)

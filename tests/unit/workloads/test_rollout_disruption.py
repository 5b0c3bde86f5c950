"""A pod that has to leave its node gets its successor first, within maxSurge."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.rollout.fleet import Fleet
from workloads.rollout.plan import plan_rollout
from workloads.rollout.policies import DisruptionMode, DisruptionPolicy
from workloads.rollout.resources import Rollout, RolloutStatus, StrategyType
from workloads.rollout.standing import KnownGood

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}
ROLLOUT = Rollout(
    key=Key("default", "web"),
    uid=Uid("owner"),
    replicas=3,
    selector=LabelSelector.parse(SELECTOR),
    raw_selector=SELECTOR,
    template={},
    max_surge=1,
    status=RolloutStatus(known_good=KnownGood("web-a", 1), updated_podset="web-a"),
)


def podset(count: int, *, available: int | None = None, disrupted: int = 1) -> PodSet:
    status = PodSetStatus(
        replicas=count,
        ready_replicas=count,
        available_replicas=count if available is None else available,
        disrupted_replicas=disrupted,
        observed_generation=1,
    )
    return PodSet(
        key=Key("default", "web-a"),
        uid=Uid("a"),
        replicas=count,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template={},
        annotations={
            "levelset.dev/revision": "1",
            "levelset.dev/desired-replicas": "3",
            "levelset.dev/max-replicas": "4",
        },
        status=status,
    )


def next_size(rollout: Rollout, pods: PodSet) -> int:
    changes = plan_rollout(rollout, Fleet(pods), now=NOW).changes
    return changes[0].after.replicas if changes else pods.replicas


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        (podset(3, disrupted=0), 3),
        (podset(3, disrupted=1), 4),
        (podset(3, disrupted=3), 4),
        (podset(4, disrupted=1, available=3), 4),
        (podset(4, disrupted=1), 3),
        (podset(4, disrupted=0), 3),
    ],
)
def test_one_comes_before_one_goes(pods: PodSet, expected: int) -> None:
    assert next_size(ROLLOUT, pods) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"max_surge": 0},
        {"disruption": DisruptionPolicy(mode=DisruptionMode.NONE)},
        {"strategy": StrategyType.RECREATE},
    ],
)
def test_none_comes_where_none_may(more: dict[str, Any]) -> None:
    assert next_size(replace(ROLLOUT, **more), podset(3)) == 3


def test_a_paused_rollout_protects_its_pods_too() -> None:
    paused = replace(ROLLOUT, is_paused=True)

    assert next_size(paused, podset(3)) == 4
    assert next_size(paused, podset(4)) == 3


def test_a_change_of_size_goes_first() -> None:
    assert next_size(replace(ROLLOUT, replicas=5), podset(3)) == 5

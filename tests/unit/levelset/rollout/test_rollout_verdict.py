"""How a rollout stands is told in the words that scripts look for."""

from typing import Any

import pytest
from rich.console import Console

from kube_runtime.resource import Json
from levelset.rollout import facts
from levelset.rollout.lines import Lines
from levelset.rollout.live import picture
from levelset.rollout.snapshot import Snapshot, snapshot_of
from levelset.rollout.verdict import Phase, judge

PROGRESSING = {"type": "Progressing", "status": "True", "reason": "PodSetUpdated"}
LATE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
ROLLED_BACK = {"type": "RolledBack", "status": "True", "reason": "CrashLoop"}
PULL = {"reason": "ImagePull", "message": "no such image", "pod": "web-x", "count": 2}
FINISH = 'Waiting for rollout "web" rollout to finish'
HELD = {"revision": 4, "podSet": "web-b", "reason": "CrashLoop", "message": "exit code 1"}


def rollout(spec: Json | None = None, **status: Any) -> Json:
    return {
        "metadata": {"name": "web", "namespace": "shop", "generation": 2},
        "spec": {"replicas": 3} | (spec or {}),
        "status": {
            "observedGeneration": 2,
            "replicas": 3,
            "updatedReplicas": 3,
            "availableReplicas": 3,
            "revision": 4,
            "conditions": [PROGRESSING],
        }
        | status,
    }


def seen(spec: Json | None = None, **status: Any) -> Snapshot:
    return snapshot_of(rollout(spec, **status))


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"observedGeneration": 1}, "Waiting for rollout spec update to be observed..."),
        (
            {"updatedReplicas": 1},
            f"{FINISH}: 1 out of 3 new replicas have been updated...",
        ),
        (
            {"replicas": 5},
            'Waiting for rollout "web" rollout to finish: 2 old replicas are pending termination...',
        ),
        (
            {"availableReplicas": 2},
            'Waiting for rollout "web" rollout to finish: 2 of 3 updated replicas are available...',
        ),
        (
            {"availableReplicas": 2, "blockedBy": PULL},
            f"{FINISH}: 2 of 3 updated replicas are available... (Warning: ImagePull - no such image)",
        ),
    ],
)
def test_what_is_waited_for_is_said_as_kubectl_says_it(status: Json, text: str) -> None:
    verdict = judge(seen(**status))

    assert (verdict.phase, verdict.text) == (Phase.WAITING, text)


def test_a_complete_rollout_is_done() -> None:
    verdict = judge(seen())

    assert (verdict.phase, verdict.text) == (Phase.DONE, 'rollout "web" successfully rolled out')


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"conditions": [LATE]}, 'rollout "web" exceeded its progress deadline'),
        (
            {"conditions": [LATE], "blockedBy": PULL},
            'rollout "web" exceeded its progress deadline (ImagePull: no such image)',
        ),
        (
            {"held": HELD, "conditions": [ROLLED_BACK], "knownGood": {"revision": 3}},
            'rollout "web" was rolled back from revision 4 to revision 3: CrashLoop: exit code 1',
        ),
        ({"held": HELD}, 'rollout "web" failed at revision 4: CrashLoop: exit code 1'),
        (
            {
                "conditions": [
                    {
                        "type": "Stalled",
                        "status": "True",
                        "reason": "InvalidSelector",
                        "message": "spec.selector: bad",
                    }
                ]
            },
            'rollout "web" cannot be worked on: spec.selector: bad',
        ),
    ],
)
def test_a_failure_says_why(status: Json, text: str) -> None:
    verdict = judge(seen(**status))

    assert (verdict.phase, verdict.text) == (Phase.FAILED, text)


def test_a_failure_of_an_older_spec_is_none() -> None:
    verdict = judge(seen(observedGeneration=1, conditions=[LATE], held=HELD))

    assert verdict.phase is Phase.WAITING


def test_a_pinned_revision_that_was_rolled_over_is_a_failure() -> None:
    verdict = judge(seen(), revision=3)

    assert verdict.phase is Phase.FAILED
    assert verdict.text == ("desired revision (3) is different from the running revision (4)")


def test_a_pinned_revision_that_is_held_failed_for_its_own_reason() -> None:
    verdict = judge(seen(held=HELD, revision=3), revision=4)

    assert "failed at revision 4: CrashLoop" in verdict.text


STEPS = [
    {"replicas": "20%"},
    {"pause": {}},
    {"pause": {"seconds": 90}},
    {"gate": {"query": "up", "threshold": {"operator": ">", "value": 0.5}, "forSeconds": 60}},
    {"job": {"template": {}}},
]


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (0, "step 1 of 5, replicas 20%: why"),
        (1, "step 2 of 5, pause until resumed: why"),
        (2, "step 3 of 5, pause for 1 min 30 s: why"),
        (3, "step 4 of 5, gate up > 0.5 for 1 min: why"),
        (4, "step 5 of 5, job: why"),
    ],
)
def test_each_step_says_what_it_waits_for(index: int, text: str) -> None:
    step = {"index": index, "podSet": "web-a", "message": "why"}

    assert facts.details(seen({"steps": STEPS}, step=step)) == [text]


def test_steps_that_are_done_are_not_told() -> None:
    assert facts.details(seen({"steps": STEPS}, step={"index": 5, "state": "Done"})) == []


def test_what_blocks_is_told_with_its_evidence() -> None:
    (line,) = facts.details(seen(blockedBy=PULL | {"since": "2026-11-30T12:00:01Z"}))

    assert line == "blocked by ImagePull since 12:00:01, 2 pods: web-x: no such image"


def test_a_held_revision_is_told_with_the_way_out() -> None:
    (line,) = facts.details(seen(held=HELD))

    assert line.startswith("revision 4 is held")
    assert line.endswith("kubectl levelset rollout retry rollout/web")


def test_plain_lines_are_written_once_until_they_change() -> None:
    written: list[str] = []
    show = Lines(written.append)

    for updated in (1, 1, 2, 2):
        look = seen({"paused": True}, updatedReplicas=updated)
        show(look, judge(look), [])

    assert [line.partition(": ")[2][:8] for line in written if "finish" in line] == [
        "1 out of",
        "2 out of",
    ]
    assert sum("paused" in line for line in written) == 1


def podset(name: str, revision: int, replicas: int, **status: Any) -> Json:
    return {
        "metadata": {"name": name, "annotations": {"levelset.dev/revision": str(revision)}},
        "spec": {
            "replicas": replicas,
            "template": {"spec": {"containers": [{"image": f"web:{revision}"}]}},
        },
        "status": status,
    }


def drawn(look: Snapshot, podsets: list[Json]) -> str:
    console = Console(width=140)
    with console.capture() as captured:
        console.print(picture(look, judge(look), podsets, elapsed_seconds=7))
    return captured.get()


def test_a_live_rollout_shows_bars_revisions_steps_and_reasons() -> None:
    raw = rollout(
        {"steps": STEPS},
        updatedReplicas=1,
        availableReplicas=2,
        updatedPodSet="web-b",
        step={"index": 1, "podSet": "web-b", "message": "until somebody resumes"},
        held=HELD,
        knownGood={"revision": 3},
    )
    podsets = [podset("web-a", 3, 2, readyReplicas=2), podset("web-b", 4, 1), podset("web-z", 1, 0)]

    said = drawn(snapshot_of(raw), podsets)

    assert "updated" in said
    assert "1/3" in said
    assert "web:3" in said
    assert "known good" in said
    assert "held" in said
    assert "web-z" not in said
    assert "▶ pause until resumed: until somebody resumes" in said
    assert "✔ replicas 20%" in said
    assert "(7 s)" in said

"""What a trace looks like, without colours."""

from rich.console import Console, RenderableType

from levelset.trace.rendering import render
from tests.unit.levelset.trace import made


def text_of(drawn: RenderableType) -> str:
    console = Console(width=140, record=True, force_terminal=False)
    with console.capture() as captured:
        console.print(drawn)
    return captured.get()


def test_a_waterfall_shows_when_and_how_long_and_names_the_slow_stage() -> None:
    journey = made.traced(pods=[made.pod()], events=[made.event("Pulled", made.PULLED)])

    said = text_of(render(journey))

    assert "Rollout shop/web, revision 2 (PodSet web-b)" in said
    assert "template changed 2026-11-30 12:00:00 UTC by kubectl" in said
    assert "complete after 13 s: 1 of 1 pods arrived" in said
    (row,) = [line for line in said.splitlines() if "image pulled" in line and "+9 s" in line]
    assert "7.5 s" in row
    assert "█" in row
    assert "slow: “image pulled” took 7.5 s: pulled 38 MB in 7.5 s" in said


def test_a_stuck_pod_is_told_in_words() -> None:
    stuck, event, evidence = made.CASES["ready"]
    journey = made.traced(
        now=40, rollout=made.rollout(**made.UNDER_WAY), pods=[stuck], events=[event]
    )

    said = text_of(render(journey))

    assert f"stuck: waits for “ready”, 30 s so far: {evidence}" in said
    assert "under way for 40 s: 0 of 1 pods arrived" in said


def test_every_pod_is_a_row() -> None:
    pods = [made.pod(name) for name in ("web-b-1", "web-b-2", "web-b-3")]

    said = text_of(render(made.traced(pods=pods), with_pods=True))

    assert "slowest of 3 pods" in said
    assert "MEDIAN" in said
    for name in ("web-b-1", "web-b-2", "web-b-3"):
        assert name in said


def test_a_change_without_a_podset_can_be_drawn() -> None:
    journey = made.traced(rollout=made.rollout(updatedReplicas=0), podset=None)

    assert "PodSet created" in text_of(render(journey))

"""The picture shows what was recorded: steps that hold until the next, answers by version."""

from levelset.demo import picture
from levelset.demo.recorder import READY, STARTING, Moment
from levelset.demo.traffic import Request

MOMENTS = [
    Moment(10.0, {("v1", READY): 2}),
    Moment(12.0, {("v1", READY): 2, ("v2", STARTING): 1}),
    Moment(13.0, {("v1", READY): 1, ("v2", READY): 1}),
]


def request(at: float, version: str = "v1", error: str = "") -> Request:
    return Request(at=at, seconds=0.01, version=version, pod="web-1", error=error)


def test_the_state_before_the_start_counts_at_zero() -> None:
    times, counts = picture.series(MOMENTS, "v1", READY, start=11.0, end=14.0)

    assert times == [0.0, 1.0, 2.0, 3.0]
    assert counts == [2, 2, 1, 1]


def test_a_revision_that_came_later_counts_nothing_before() -> None:
    _, counts = picture.series(MOMENTS, "v2", READY, start=11.0, end=14.0)

    assert counts == [0, 0, 1, 1]


def test_revisions_are_listed_as_they_appeared() -> None:
    assert picture.revisions_of(MOMENTS) == ["v1", "v2"]


def test_answers_are_rates_in_half_seconds_and_failures_stand_apart() -> None:
    requests = [request(0.1), request(0.2), request(0.6), request(0.7, "", error="refused")]

    rates = picture.answers_per_second(requests, start=0.0, end=1.0)

    assert rates == {"v1": [4.0, 2.0], "failed": [0.0, 2.0]}


def test_requests_outside_of_the_picture_are_left_out() -> None:
    rates = picture.answers_per_second([request(-0.1), request(1.0)], start=0.0, end=1.0)

    assert rates == {}

"""matplotlib itself draws the picture, with and without requests."""

from pathlib import Path

import pytest

from levelset.demo import picture
from levelset.demo.recorder import READY, STARTING, Moment
from levelset.demo.traffic import Request

pytestmark = pytest.mark.contract

MOMENTS = [
    Moment(10.0, {("v1", READY): 2}),
    Moment(12.0, {("v1", READY): 2, ("v2", STARTING): 1}),
    Moment(13.0, {("v1", READY): 1, ("v2", READY): 1}),
]
REQUEST = Request(at=11.5, seconds=0.01, version="v1", pod="web-1", error="")


def test_a_picture_is_written(tmp_path: Path) -> None:
    path = tmp_path / "rollout.svg"

    picture.draw(MOMENTS, [REQUEST], path, start=11.0, end=14.0, title="A test")

    assert path.read_text().lstrip().startswith("<?xml")


def test_without_requests_there_is_still_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "rollout.png"

    picture.draw(MOMENTS, [], path, start=11.0, end=14.0, title="A test")

    assert path.read_bytes().startswith(b"\x89PNG")

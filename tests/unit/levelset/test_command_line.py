"""The command line itself: what is wrong is said in one line, before anything is touched."""

import errno
import os
from pathlib import Path

import pytest

from levelset.__main__ import main
from levelset.demo import play

ABSENT = "kubeconfig /absent/config: expected a file, found none"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--bogus"], "--bogus"),
        (["cluster", "--bogus"], "--bogus"),
        (["cluster", "up", "--bogus"], "--bogus"),
        (["cluster", "up", "--node", "3"], "--node"),
        (["app", "get", "--bogus"], "--bogus"),
        (["app", "get"], "NAME"),
        (["nonsense"], "'nonsense'"),
        ([], "COMMAND"),
        (["cluster"], "VERB"),
        (["cluster", "up", "--nodes", "many"], "--nodes: expected 0 or more, found 'many'"),
        (["app", "wait", "web", "--timeout", "long"], "--timeout: expected seconds"),
        (["app", "wait", "web", "--timeout", "0"], "--timeout: expected seconds"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)

    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert named in said
    assert "--help` tells what is expected" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ["--kubeconfig", "/absent/config", "app", "get", "web"],
        ["app", "--kubeconfig", "/absent/config", "get", "web"],
        ["app", "get", "web", "--kubeconfig", "/absent/config"],
    ],
)
def test_global_options_stand_before_or_behind_the_command(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(words)

    said = capsys.readouterr().err
    assert code == 1
    assert ABSENT in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("place", [0, 2, 3])
def test_debug_shows_the_trace_above_the_line(
    place: int, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["app", "get", "web", "--kubeconfig=/absent/config"]
    words.insert(place, "--debug")

    code = main(words)

    said = capsys.readouterr().err.splitlines()
    assert code == 1
    assert said[0].startswith("Traceback")
    assert said[-1].startswith(f"levelset: {ABSENT}")


def test_a_context_that_is_not_there_is_named_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config"
    file.write_text(
        "{clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], users: [],"
        " contexts: [{name: here, context: {cluster: c}}], current-context: here}"
    )

    code = main(["app", "get", "web", "--kubeconfig", str(file), "--context", "there"])

    assert code == 1
    assert "expected context 'there', found only: here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "; free some space there and try again"), (errno.EIO, "")],
)
def test_what_the_system_refuses_is_one_line_with_the_place(
    number: int, advice: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: object) -> int:
        raise OSError(number, os.strerror(number), "/var/lib/full")

    monkeypatch.setattr(play, "run", full)

    code = main(["demo"])

    expected = f"levelset: /var/lib/full: {os.strerror(number)}{advice}\n"
    assert (code, capsys.readouterr().err) == (1, expected)

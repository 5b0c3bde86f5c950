"""Words of the command line: which Rollout, flags in kubectl's form, spans of time."""

import argparse

import pytest

from levelset.__main__ import main
from levelset.rollout import flags, targets
from levelset.rollout.handover import exec_words, kubectl_words
from levelset.rollout.spans import seconds_of, span


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["web"], ["web"]),
        (["ro/web"], ["web"]),
        (["rollout/web", "rollouts/api"], ["web", "api"]),
        (["rollout.levelset.dev/web"], ["web"]),
        (["rollouts.levelset.dev/web"], ["web"]),
        (["rollout", "web"], ["web"]),
        (["ro", "web", "api"], ["web", "api"]),
        (["ro"], ["ro"]),
        (["web", "ro/web"], ["web"]),
    ],
)
def test_a_rollout_is_named_as_with_kubectl(words: list[str], found: list[str]) -> None:
    assert targets.names_of(words) == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rollout"], "VERB"),
        (["rollout", "status"], "ROLLOUT"),
        (["rollout", "status", "deployment/web"], "found 'deployment/web'"),
        (["rollout", "status", "ro/"], "found 'ro/'"),
        (["rollout", "status", "a", "b"], "expected one Rollout, found 2: a b"),
        (["rollout", "status", "web", "--timeout=soon"], "expected a time such as 30s"),
        (["rollout", "status", "web", "--watch=perhaps"], "'perhaps'"),
        (["rollout", "status", "web", "--revision=-1"], "the number of a revision"),
        (["rollout", "undo", "web", "--dry-run=maybe"], "'maybe'"),
        (["rollout", "undo", "web", "--to-revision", "two"], "found 'two'"),
        (["exec", "ro/web"], "-- COMMAND"),
        (["exec", "pod/web", "--", "ls"], "found 'pod/web'"),
        (["logs", "web", "--tail=few"], "expected a number, found 'few'"),
        (["logs", "web", "--max-log-requests=500"], "expected 1 to 90, found '500'"),
        (["logs", "web", "-f", "-p"], "exclude each other"),
        (["logs", "web", "-c", "a", "--all-containers"], "exclude each other"),
        (["trace", "web", "-o", "xml"], "'xml'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)

    complaint = capsys.readouterr().err
    assert ended.value.code == 2
    assert said in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("words", [["rollout"], ["rollout", "undo"], ["logs"], ["exec"], ["trace"]])
def test_help_is_there_without_a_cluster(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])

    said = capsys.readouterr().out
    assert ended.value.code == 0
    assert "usage: levelset" in said
    assert "=false" not in said.partition("options:")[0]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], (True, "none")),
        (["--watch=false"], (False, "none")),
        (["-w=false"], (False, "none")),
        (["-w"], (True, "none")),
        (["--watch=true", "--dry-run"], (True, "client")),
        (["--dry-run=server"], (True, "server")),
        (["--dry-run", "web"], (True, "client")),
    ],
)
def test_flags_take_values_behind_an_equals_sign_only(
    words: list[str], found: tuple[bool, str]
) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("name", nargs="?")
    flags.add_switch(parser, "--watch", "-w", default=True, help_="")
    flags.add_choice(
        parser, "--dry-run", choices=("none", "client", "server"), bare="client", help_=""
    )

    args = parser.parse_args(words)

    assert (args.watch, args.dry_run) == found


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30), ("30s", 30), ("1m30s", 90), ("2h", 7200), ("500ms", 0.5), ("0", 0), ("0s", 0)],
)
def test_times_are_read_as_kubectl_reads_them(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "s", "1x", "1m 30s", "-5s", "1e3", "9999999999"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        seconds_of(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.85, "850 ms"),
        (4.2, "4.2 s"),
        (4.0, "4 s"),
        (42.4, "42 s"),
        (60, "1 min"),
        (185, "3 min 5 s"),
        (7440, "2 h 4 min"),
    ],
)
def test_spans_are_short(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_the_command_line_for_kubectl_keeps_the_users_words_apart() -> None:
    words = exec_words("web-x", ["sh", "-c", "echo $HOME; rm -i x"], container="web", has_tty=True)

    assert kubectl_words(words, namespace="shop", kubeconfig="/k", context="c") == [
        "kubectl",
        "--namespace",
        "shop",
        "--kubeconfig",
        "/k",
        "--context",
        "c",
        "exec",
        "pod/web-x",
        "--tty",
        "--container",
        "web",
        "--",
        "sh",
        "-c",
        "echo $HOME; rm -i x",
    ]

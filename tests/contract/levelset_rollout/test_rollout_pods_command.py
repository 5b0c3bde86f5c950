"""`levelset exec`, `logs` and `trace`, as far as they go without a kubelet."""

import json
import stat
from pathlib import Path

import pytest

from tests.contract.levelset_rollout.conftest import BIN, Cli
from tests.contract.workloads.world import World
from workloads.names import ROLLOUTS

pytestmark = pytest.mark.contract

KUBECTL = """#!/bin/sh
printf '%s\\n' "$@"
exit 7
"""


@pytest.fixture
def with_a_told_kubectl(levelset: Cli, tmp_path: Path) -> Cli:
    """A program called kubectl that says how it was called."""
    program = tmp_path / "kubectl"
    program.write_text(KUBECTL)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return Cli(levelset.kubeconfig, levelset.namespace, (BIN, tmp_path))


async def test_exec_becomes_kubectl_for_a_pod_of_the_newest_revision(
    live: World, with_a_told_kubectl: Cli
) -> None:
    await live.rollout(1)
    await live.is_complete()
    await live.set_image("web:2")
    await live.is_complete(revision=2)
    (pod,) = await live.pods()

    said = await with_a_told_kubectl("exec", "ro/web", "-it", "-c", "web", "--", "sh", "-c", "a b")

    assert said.code == 7  # kubectl's own
    assert said.out.splitlines() == [
        "--namespace",
        live.namespace,
        "exec",
        f"pod/{pod['metadata']['name']}",
        "--stdin",
        "--tty",
        "--container",
        "web",
        "--",
        "sh",
        "-c",
        "a b",
    ]


async def test_exec_without_kubectl_or_without_a_pod_is_one_line(
    live: World, levelset: Cli
) -> None:
    live.broken_images.add("web:1")
    await live.rollout(1)
    await live.has_pods(1)

    without_a_pod = await levelset("exec", "ro/web", "--", "date")
    live.broken_images.clear()
    await live.is_complete()
    without_kubectl = await levelset("exec", "ro/web", "--", "date")

    assert (without_a_pod.code, without_kubectl.code) == (1, 1)
    assert 'rollout "web" has no running pod' in without_a_pod.err
    assert "expected it on PATH, found none" in without_kubectl.err
    assert without_kubectl.err.count("\n") == 1


async def test_logs_of_pods_that_have_not_started_are_one_line(
    controlled: World, levelset: Cli
) -> None:
    await controlled.rollout(1)
    await controlled.has_pods(1)

    said = await levelset("logs", "ro/web")

    assert said.code == 1
    assert said.err == (
        'levelset: rollout "web" has no log: 1 pods, none of which has begun to run\n'
    )


async def test_a_trace_of_what_is_not_scheduled_says_so(controlled: World, levelset: Cli) -> None:
    await controlled.rollout(2)
    await controlled.has_status(ROLLOUTS, replicas=2)

    shown = await levelset("trace", "ro/web", "--pods")
    document = await levelset("trace", "ro/web", "-o", "json")

    traced = json.loads(document.out)
    assert (shown.code, document.code) == (0, 0)
    assert "waits for “scheduled”" in shown.out
    assert not traced["complete"]
    assert traced["changedBy"] == "levelset-tests"
    assert [pod["waitsFor"] for pod in traced["pods"]] == ["Scheduled", "Scheduled"]


async def test_a_terminal_without_unicode_gets_a_trace_all_the_same(
    controlled: World, levelset: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    await controlled.rollout(1)
    await controlled.has_pods(1)

    said = await levelset("trace", "ro/web")

    assert said.code == 0, said
    assert "pod created" in said.out


async def test_what_is_not_there_is_one_line(world: World, levelset: Cli) -> None:
    for words in (("trace", "nobody"), ("logs", "nobody"), ("exec", "nobody", "--", "ls")):
        said = await levelset(*words)

        assert said.code == 1
        assert 'rollouts.levelset.dev "nobody" not found' in said.err
        assert said.err.count("\n") == 1

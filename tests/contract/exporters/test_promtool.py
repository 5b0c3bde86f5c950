"""What Prometheus' own tools say of our page and of our rules."""

import subprocess
from pathlib import Path

import pytest

from exporters.catalogue import CATALOGUE
from exporters.catalogue.state import OBJECT_METRICS
from exporters.instrument import Instruments
from exporters.state.kinds import WATCHED_KINDS
from exporters.state.store import StateStore
from kube_runtime.resource import Json, Key
from local_cluster.services import running

pytestmark = pytest.mark.contract

MONITORING = Path(__file__).parents[3] / "deploy" / "monitoring"
PARSE_ERROR, LINT_ONLY = 1, 3


def _promtool(*arguments: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program = running.find_program("promtool", package="prometheus")
    return subprocess.run(
        [program, *arguments], input=stdin, capture_output=True, timeout=60, check=False
    )


def _nasty(name: str) -> Json:
    return {
        "metadata": {"namespace": 'a"b', "name": name, "uid": "u", "generation": 1},
        "spec": {"project": 'p\\q"\n🙂', "replicas": 2},
        "status": {
            "observedGeneration": 1,
            "conditions": [{"type": "Ready", "status": "True"}],
            "sync": {"status": 'Syn"ced\\'},
        },
    }


def test_promtool_reads_a_page_with_nasty_names_and_finds_nothing_to_lint() -> None:
    store = StateStore(OBJECT_METRICS, max_series_per_family=10**6)
    for kind in WATCHED_KINDS:
        for name in ("plain", 'quo"te', "back\\slash", "new\nline", "🙂"):
            obj = _nasty(name)
            store.put(kind.name, Key.of(obj), kind.render(obj))
        store.show(kind.name)
    instruments = Instruments("test")
    instruments.runtime.controller_started("rollout", 5)
    instruments.runtime.request_finished("GET", "200", "127.0.0.1:6443", 0.1)

    done = _promtool("check", "metrics", stdin=instruments.registry.render("text") + store.page())

    assert done.stderr == b""
    assert done.returncode == 0


def test_promtool_refuses_what_it_should() -> None:
    done = _promtool("check", "metrics", stdin=b'a{name="x} 1\n')

    assert done.returncode == PARSE_ERROR


def test_every_family_of_the_catalogue_passes_the_lint() -> None:
    page = "".join(
        f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.type}\n"
        + (
            f'{metric.name}_bucket{{le="+Inf"}} 1\n{metric.name}_sum 1\n{metric.name}_count 1\n'
            if metric.type == "histogram"
            else f"{metric.name} 1\n"
        )
        for metric in CATALOGUE.values()
    )

    done = _promtool("check", "metrics", stdin=page.encode())

    assert (done.returncode, done.stderr) == (0, b"")


def test_the_rules_are_valid() -> None:
    done = _promtool("check", "rules", "--lint=all", "--lint-fatal", MONITORING / "rules.yaml")

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_rules_do_what_their_tests_say() -> None:
    done = _promtool("test", "rules", MONITORING / "rules_test.yaml")

    assert done.returncode == 0, done.stdout + done.stderr

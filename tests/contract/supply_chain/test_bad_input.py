"""What the process says when it cannot work: one line, and the right exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.supply_chain.harness import ROOT, Lab

pytestmark = pytest.mark.contract


def run(*arguments: str | Path) -> tuple[int, str]:
    """Run the process until it gives up; the exit code and what it said."""
    environment = {k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "HOME"}}
    done = subprocess.run(
        [sys.executable, "-m", "supply_chain", *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr


def test_an_unknown_flag_is_a_usage_error() -> None:
    code, said = run("--no-such-flag")

    assert code == 2
    assert "--no-such-flag" in said


def test_a_kubeconfig_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    code, said = run("--kubeconfig", tmp_path / "absent", "--insecure-metrics")

    assert code == 1
    assert str(tmp_path / "absent") in said
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) == 1


def test_a_registry_ca_file_that_is_none_is_one_line(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    flags = ("--kubeconfig", lab.guard.kubeconfig, "--insecure-metrics")

    code, said = run(*flags, "--registry-ca-file", tmp_path / "ca.pem")

    assert code == 1
    assert "--registry-ca-file" in said
    assert "expected a PEM file of certificates" in said
    assert "Traceback" not in said


def test_a_port_that_is_taken_is_named_with_the_flag_to_change(lab: Lab) -> None:
    flags = ("--kubeconfig", lab.guard.kubeconfig, "--insecure-metrics", "--metrics-port", "0")
    where = ("--admission-host", "127.0.0.1", "--admission-port", str(lab.guard.port))

    code, said = run(*flags, *where, "--metrics-host", "127.0.0.1")

    assert code == 1
    assert f"127.0.0.1:{lab.guard.port}" in said
    assert "--admission-port" in said
    assert "Traceback" not in said

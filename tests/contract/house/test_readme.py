"""The README's commands for using a part alone, taken from it and run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from local_cluster.kubectl import Kubectl

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()
STARTS = sorted(set(re.findall(r"python -m ([a-z_]+ --[a-z-]+)", README)))
PARTS = re.findall(r"^\| ([a-z_]+) \| `python -m \1` \|", README, flags=re.MULTILINE)


def test_kinds_and_permissions_can_be_applied_as_it_says(kubectl: Kubectl) -> None:
    commands = re.findall(r"^kubectl (.+)$", README, flags=re.MULTILINE)

    # Another test may have made the namespace before.
    (create, apply) = (shlex.split(command, comments=True) for command in commands)
    kubectl(*create, check=False)
    kubectl(*(str(ROOT / word) if word.startswith("deploy/") else word for word in apply))

    accounts = kubectl("get", "serviceaccounts", "-n", "levelset-system", "-o", "name").stdout
    for part in PARTS:
        assert f"serviceaccount/levelset-{part.replace('_', '-')}" in accounts


@pytest.mark.parametrize("part", PARTS)
def test_each_part_starts_with_the_flag_that_it_names(part: str, tmp_path: Path) -> None:
    (start,) = STARTS
    _, flag = start.split()

    done = subprocess.run(
        [sys.executable, "-m", part, flag, "--metrics-port=0", f"--kubeconfig={tmp_path}/none"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "operator")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    # It gets as far as the cluster, which is not there.
    assert f"kubeconfig {tmp_path}/none: expected a file" in done.stderr


def test_all_four_parts_are_named() -> None:
    assert PARTS == ["workloads", "gitops_agent", "supply_chain", "exporters"]

"""examples/01-podset and 02-rollout, command by command as their READMEs say."""

import asyncio
import re
import shlex
from pathlib import Path

import pytest

from local_cluster.kubectl import Kubectl
from tests.contract.workloads.world import World

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
_COMMAND = re.compile(r"^\$ kubectl (.*)$", re.MULTILINE)


@pytest.mark.parametrize("example", ["01-podset", "02-rollout"])
async def test_every_command_of_the_readme_works(
    live: World, kubectl: Kubectl, example: str
) -> None:
    readme = (ROOT / "examples" / example / "README.md").read_text()
    commands = _COMMAND.findall(readme)

    for command in commands:
        words = [word.replace("examples/", f"{ROOT}/examples/") for word in shlex.split(command)]
        await asyncio.to_thread(kubectl, *words, "-n", live.namespace)

    assert len(commands) >= 7

"""Start the GitOps agent: `python -m gitops_agent --help` lists the settings."""

import os
import shutil
import sys
from collections.abc import Sequence

from exporters.instrument import Instruments
from gitops_agent.settings import AgentSettings
from kube_runtime.api import ApiClient
from kube_runtime.process import run_main
from kube_runtime.settings import load_settings


def main(argv: Sequence[str] | None = None) -> int:
    """Read the settings, run, and return the exit code."""
    settings = load_settings(
        AgentSettings, argv, env_prefix="LEVELSET_GITOPS_", prog="python -m gitops_agent"
    )
    _forget_git_variables()
    if shutil.which("git") is None:
        print("levelset-gitops-agent: git is not on PATH; install git", file=sys.stderr)  # noqa: T201 - for a person
        return 1
    return run_main(settings.process, lambda: _run(settings))


def _forget_git_variables() -> None:
    """Whatever the environment tells git is not for our mirrors: GIT_DIR alone would mix them up."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]


async def _run(settings: AgentSettings) -> int:
    from gitops_agent.agent import Agent  # noqa: PLC0415 - GitPython's import fails without git

    settings.metrics.check()
    instruments = Instruments(settings.process.name)
    async with await ApiClient.connect(
        kubeconfig=settings.process.kubeconfig,
        context=settings.process.context,
        user_agent=settings.process.name,
        qps=settings.qps,
        burst=settings.burst,
        instrumentation=instruments.runtime,
    ) as api:
        return await Agent(settings, api, instruments).run()


if __name__ == "__main__":
    os.umask(0o077)  # mirrors of private repositories are nobody else's business
    sys.exit(main())

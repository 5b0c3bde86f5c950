"""`python -m workloads`: the PodSet and Rollout controllers as one process."""

import functools
import sys
from collections.abc import Sequence

from exporters.instrument import Instruments
from exporters.server import build_server
from kube_runtime.api import ApiClient
from kube_runtime.process import run_main, run_process
from kube_runtime.settings import load_settings
from workloads import handlers, names
from workloads.controllers import build_controllers
from workloads.settings import ENV_PREFIX, WorkloadsSettings


def main(argv: Sequence[str] | None = None) -> int:
    """Run until a signal; return the exit code."""
    settings = load_settings(
        WorkloadsSettings, argv, env_prefix=ENV_PREFIX, prog="python -m workloads"
    )
    return run_main(settings.process, functools.partial(_run, settings))


async def _run(settings: WorkloadsSettings) -> int:
    instruments = Instruments(settings.process.name)
    api = await ApiClient.connect(
        kubeconfig=settings.process.kubeconfig,
        context=settings.process.context,
        user_agent=names.FIELD_MANAGER,
        qps=settings.qps,
        burst=settings.burst,
        timeout_seconds=settings.request_timeout_seconds,
        instrumentation=instruments.runtime,
    )
    async with api:
        controllers = build_controllers(api, settings, instruments=instruments)
        server = build_server(settings.metrics, instruments, api=api, ready=controllers.are_synced)
        await server.open()  # a taken port is one line, before anything runs
        return await run_process(
            settings.process,
            api=api,
            register=functools.partial(handlers.register, controllers=controllers),
            always=[server.run, *controllers.always],
            leading=controllers.leading,
            ready=controllers.are_synced,
            required_kinds=(names.PODSETS, names.ROLLOUTS),
            namespaces=[settings.watch_namespace] if settings.watch_namespace else [],
            instrumentation=instruments.runtime,
        )


if __name__ == "__main__":
    sys.exit(main())

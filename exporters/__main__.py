"""The state exporter: serves the state of our custom resources, and its own metrics.

`python -m exporters --metrics-cert-file … --metrics-key-file …`. All replicas serve their process
metrics; the one that holds the lease adds the state. It writes nothing to the cluster but the lease
and the reviews of scrapers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from exporters import handlers
from exporters.instrument import Instruments
from exporters.names import ENVIRONMENT_PREFIX, PROCESS
from exporters.server import build_server
from exporters.settings import MetricsSettings
from exporters.state.watcher import StateWatcher
from kube_runtime.api import ApiClient
from kube_runtime.process import ProcessSettings, run_main, run_process
from kube_runtime.settings import load_settings


@dataclass(frozen=True, slots=True)
class ExporterSettings:
    """Serve the state of Levelset's custom resources as metrics."""

    process: ProcessSettings = field(default_factory=lambda: ProcessSettings(name=PROCESS))
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    max_series_per_family: int = 500_000
    """How many series of object state one family may have; more are left out, and counted."""

    def __post_init__(self) -> None:
        if self.max_series_per_family < 1:
            raise ValueError(
                f"--max-series-per-family: expected 1 or more, found {self.max_series_per_family}"
            )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the exporter until it is told to stop; 0 for an ordered end."""
    settings = load_settings(
        ExporterSettings, argv, env_prefix=ENVIRONMENT_PREFIX, prog="python -m exporters"
    )
    return run_main(settings.process, lambda: _run(settings))


async def _run(settings: ExporterSettings) -> int:
    settings.metrics.check()
    instruments = Instruments(settings.process.name)
    api = await ApiClient.connect(
        kubeconfig=settings.process.kubeconfig,
        context=settings.process.context,
        user_agent=PROCESS,
        instrumentation=instruments.runtime,
    )
    async with api:
        await api.request("GET", "/version")  # no way to the cluster is one line, as in all parts
        watcher = StateWatcher(
            api, instruments, max_series_per_family=settings.max_series_per_family
        )
        server = build_server(
            settings.metrics,
            instruments,
            api=api,
            ready=lambda: watcher.is_ready,
            extra=[watcher.page],
        )
        await server.open()  # a port that is taken ends this in one line, before anything runs
        return await run_process(
            settings.process,
            api=api,
            register=handlers.register,
            always=[server.run, watcher.run],
            leading=[watcher.lead],
            ready=lambda: watcher.is_ready,
            instrumentation=instruments.runtime,
        )


if __name__ == "__main__":
    sys.exit(main())

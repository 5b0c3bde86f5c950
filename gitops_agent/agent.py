"""Put the parts of the agent together; decides nothing, does no I/O but to connect.

`__main__` runs what this builds inside the process shell; the tests run it beside a real API server.
"""

import functools
import logging
from collections.abc import Iterator
from typing import Final

from exporters.instrument import Instruments
from exporters.server import build_server
from gitops_agent import handlers
from gitops_agent.diff.differ import Differ
from gitops_agent.diff.schemas import Schemas
from gitops_agent.errors import GitOpsError
from gitops_agent.live import LiveObjects
from gitops_agent.metrics import AgentMetrics
from gitops_agent.names import APPLICATIONS, COMPONENT
from gitops_agent.objects import Redactor
from gitops_agent.observer import Observer
from gitops_agent.push.receiver import PushReceiver
from gitops_agent.reconciler import ApplicationReconciler
from gitops_agent.render.kustomize import Kustomize, KustomizeLimits
from gitops_agent.render.renderer import Renderer
from gitops_agent.settings import AgentSettings
from gitops_agent.source import urls
from gitops_agent.source.command import GitLimits
from gitops_agent.source.sources import SourceLimits, Sources
from gitops_agent.status_writer import StatusWriter
from gitops_agent.sync.apply import Applier
from gitops_agent.sync.syncer import Syncer
from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK
from kube_runtime.controller import Controller
from kube_runtime.errors import RequestTimeout
from kube_runtime.events import EventRecorder
from kube_runtime.freshness import Freshness
from kube_runtime.informer import Informer
from kube_runtime.process import run_process
from kube_runtime.resource import Json, Key, uid_of

_LOG: Final = logging.getLogger(__name__)
_BY_REPOSITORY: Final = "repository"
_BY_UID: Final = "uid"


class Agent:
    """One agent: its informers, its controller and its servers."""

    def __init__(self, settings: AgentSettings, api: ApiClient, instruments: Instruments) -> None:
        self._settings = settings
        self._api = api
        self._instruments = instruments
        self.metrics = AgentMetrics(instruments)
        self.applications = Informer(
            api,
            APPLICATIONS,
            indexers={_BY_REPOSITORY: _repository, _BY_UID: _uid},
            instrumentation=instruments.runtime,
        )
        self.freshness = Freshness(self.applications, instrumentation=instruments.runtime)
        redactor = Redactor()
        self.sources = Sources(
            settings.cache_dir,
            limits=SourceLimits(git=GitLimits(timeout_seconds=settings.git_timeout_seconds)),
            observer=self.metrics,
            on_moved=self.wake_repository,
        )
        self.live = LiveObjects(
            api,
            redactor=redactor,
            on_change=self._wake_uid,
            instrumentation=instruments.runtime,
        )
        self.events = EventRecorder(api, COMPONENT, instrumentation=instruments.runtime)
        self.receiver = PushReceiver(
            host=settings.webhook_host,
            port=settings.webhook_port,
            secret_file=settings.webhook_secret_file,
            on_push=self.pushed,
            observer=self.metrics,
        )
        self.controller = Controller(
            "applications",
            self._reconciler(redactor),
            workers=settings.workers,
            reconcile_timeout_seconds=settings.sync_timeout_seconds,
            resync_keys=self.applications.store.keys,
            instrumentation=instruments.runtime,
        )
        self.applications.on_change(self._application_changed)

    def _reconciler(self, redactor: Redactor) -> ApplicationReconciler:
        settings, api = self._settings, self._api
        limits = KustomizeLimits(timeout_seconds=settings.render_timeout_seconds)
        kustomize = Kustomize(settings.kustomize, limits)
        observer = Observer(
            api,
            sources=self.sources,
            renderer=Renderer(self.sources, kustomize, self.metrics),
            live=self.live,
            differ=Differ(api, Schemas(api), redactor),
            redactor=redactor,
            living=lambda: {uid_of(obj) for obj in self.applications.store.list()},
            max_age_seconds=settings.poll_seconds,
        )
        syncer = Syncer(
            api,
            observer,
            Applier(api, self.live),
            on_apply=lambda world: self.metrics.applying(world.application.key),
        )
        return ApplicationReconciler(
            applications=self.applications.store,
            observer=observer,
            syncer=syncer,
            writer=StatusWriter(api, SYSTEM_CLOCK),
            events=self.events,
            metrics=self.metrics,
            mark_stale=self.sources.mark_stale,
            poll_seconds=settings.poll_seconds,
        )

    def pushed(self, index_key: str) -> None:
        """Take a hint that a repository has changed."""
        self.sources.mark_stale(index_key)
        for obj in self.applications.store.by_index(_BY_REPOSITORY, index_key):
            self.metrics.pushed(Key.of(obj))
        self.wake_repository(index_key)

    def wake_repository(self, index_key: str) -> None:
        """Look at every Application of a repository."""
        for obj in self.applications.store.by_index(_BY_REPOSITORY, index_key):
            self.controller.queue.add(Key.of(obj))

    def is_ready(self) -> bool:
        """Whether the agent sees the Applications of the cluster."""
        return self.applications.has_synced

    async def run(self) -> int:
        """Run inside the process shell until told to stop."""
        server = build_server(
            self._settings.metrics, self._instruments, api=self._api, ready=self.is_ready
        )
        await server.open()  # a taken port is one line, before anything runs
        return await run_process(
            self._settings.process,
            api=self._api,
            register=functools.partial(
                handlers.register, wake=self.controller.queue.add, freshness=self.freshness
            ),
            always=[
                self.applications.run,
                self.freshness.run,
                self.live.run,
                self.events.run,
                self.receiver.run,
                server.run,
            ],
            leading=[self.lead],
            ready=self.is_ready,
            required_kinds=[APPLICATIONS],
            instrumentation=self._instruments.runtime,
        )

    async def lead(self) -> None:
        """Work as the leader, on a view that holds the last inventories of the leader before."""
        while True:
            try:
                await self.applications.relist()
                break
            except RequestTimeout:
                _LOG.warning("cannot see the Applications, does not begin to lead")
        await self.controller.run()

    def _wake_uid(self, uid: str) -> None:
        for obj in self.applications.store.by_index(_BY_UID, uid):
            self.controller.queue.add(Key.of(obj))

    def _application_changed(self, old: Json | None, new: Json | None) -> None:
        obj = new if new is not None else old
        if obj is not None:
            self.controller.queue.add(Key.of(obj))


def _repository(obj: Json) -> Iterator[str]:
    """File an Application under its repository, however its URL is spelled."""
    try:
        yield urls.parse(obj["spec"]["source"]["repoURL"]).index_key
    except GitOpsError:
        return


def _uid(obj: Json) -> Iterator[str]:
    yield uid_of(obj)

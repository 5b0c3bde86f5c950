"""Puts both controllers together over one client.

Called by __main__, and by tests that run the controllers in their own process.
"""

import asyncio
import logging
import random
from dataclasses import dataclass
from typing import Final

from exporters.instrument import Instruments
from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.controller import Controller
from kube_runtime.errors import RequestTimeout
from kube_runtime.events import EventRecorder
from kube_runtime.freshness import Freshness
from kube_runtime.informer import Informer, drop_managed_fields
from kube_runtime.resource import NODES, POD_DISRUPTION_BUDGETS, PODS, Resource
from kube_runtime.stage import Service
from kube_runtime.store import by_owner_uid, orphans_by_namespace
from workloads import names
from workloads.metrics import WorkloadsMetrics
from workloads.podset.controller import build_podset_controller
from workloads.podset.nodes import slim_node
from workloads.podset.reconciler import ORPHAN_INDEX, OWNER_INDEX
from workloads.podset.slim import slim_pod
from workloads.rollout.config.copies import RESOURCES
from workloads.rollout.config.references import SourceKind
from workloads.rollout.config.watching import (
    COPIES_INDEX,
    SOURCE_INDEX,
    ConfigWatch,
    Slim,
    by_copy,
    by_source,
)
from workloads.rollout.controller import build_rollout_controller
from workloads.rollout.disruption.keeper import NAMESPACE_INDEX, by_namespace
from workloads.settings import WorkloadsSettings
from workloads.surroundings import Surroundings

_log: Final = logging.getLogger(__name__)
_INDEXERS: Final = {OWNER_INDEX: by_owner_uid, ORPHAN_INDEX: orphans_by_namespace}
_ROLLOUT_INDEXERS: Final = {SOURCE_INDEX: by_source, NAMESPACE_INDEX: by_namespace}


@dataclass(frozen=True, slots=True)
class Controllers:
    """Both controllers, ready to run."""

    informers: tuple[Informer, ...]
    """Without which nothing is done."""
    nodes: Informer
    optional: tuple[Informer, ...]
    """What may be forbidden without stopping the rest."""
    events: EventRecorder
    podset: Controller
    rollout: Controller
    podset_freshness: Freshness
    rollout_freshness: Freshness

    @property
    def always(self) -> list[Service]:
        """What runs whether this process leads or not."""
        return [
            *(informer.run for informer in self.informers),
            self.nodes.run,
            *(informer.run for informer in self.optional),
            self.events.run,
            self.podset_freshness.run,
            self.rollout_freshness.run,
        ]

    @property
    def leading(self) -> list[Service]:
        """What only a leader runs."""
        return [self.lead]

    async def lead(self) -> None:
        """Work as the leader, on a view that includes what the last leader did at its end."""
        while not await self._look_anew():
            _log.warning("cannot see the cluster, does not begin to lead")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.podset.run())
            tasks.create_task(self.rollout.run())

    async def _look_anew(self) -> bool:
        """List everything once more; False when the API server did not answer in time."""
        try:
            await asyncio.gather(*(informer.relist() for informer in self.informers))
        except RequestTimeout:
            return False
        return True

    def are_synced(self) -> bool:
        """Tell whether every informer has seen the whole of its kind."""
        return all(informer.has_synced for informer in self.informers)


def build_controllers(
    api: ApiClient,
    settings: WorkloadsSettings,
    *,
    instruments: Instruments,
    clock: Clock = SYSTEM_CLOCK,
    random_source: random.Random | None = None,
) -> Controllers:
    """Build both controllers; nothing runs yet."""
    runtime = instruments.runtime

    def informer(resource: Resource) -> Informer:
        return Informer(
            api,
            resource,
            namespace=settings.watch_namespace,
            indexers=_ROLLOUT_INDEXERS if resource is names.ROLLOUTS else _INDEXERS,
            transform=slim_pod if resource is PODS else drop_managed_fields,
            instrumentation=runtime,
            clock=clock,
        )

    def config_informer(kind: SourceKind) -> Informer:
        return Informer(
            api,
            RESOURCES[kind],
            namespace=settings.watch_namespace,
            indexers={COPIES_INDEX: by_copy},
            transform=Slim(kind),
            metadata_only=True,
            instrumentation=runtime,
            clock=clock,
        )

    around = Surroundings(
        api=api,
        settings=settings,
        pods=informer(PODS),
        podsets=informer(names.PODSETS),
        rollouts=informer(names.ROLLOUTS),
        nodes=Informer(api, NODES, transform=slim_node, instrumentation=runtime, clock=clock),
        config=ConfigWatch({kind: config_informer(kind) for kind in RESOURCES}),
        budgets=Informer(
            api,
            POD_DISRUPTION_BUDGETS,
            namespace=settings.watch_namespace,
            indexers={NAMESPACE_INDEX: by_namespace},
            instrumentation=runtime,
            clock=clock,
        ),
        events=EventRecorder(api, names.FIELD_MANAGER, instrumentation=runtime, clock=clock),
        metrics=WorkloadsMetrics(instruments),
        runtime=runtime,
        clock=clock,
        random_source=random_source or random.Random(),  # noqa: S311 - names, not secrets
    )
    return Controllers(
        informers=(around.pods, around.podsets, around.rollouts),
        nodes=around.nodes,
        optional=(around.budgets, *around.config.informers.values()),
        events=around.events,
        podset=build_podset_controller(around),
        rollout=build_rollout_controller(around),
        podset_freshness=Freshness(around.podsets, instrumentation=runtime, clock=clock),
        rollout_freshness=Freshness(around.rollouts, instrumentation=runtime, clock=clock),
    )

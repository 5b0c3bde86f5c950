"""Puts the PodSet controller together: queue, expectations, handlers, reconciler."""

from typing import Final

from kube_runtime.controller import Controller
from kube_runtime.expectations import Expectations
from kube_runtime.resource import Key
from kube_runtime.workqueue import WorkQueue
from workloads.podset.nodes import DisruptedNodes
from workloads.podset.pod_writer import PodWriter
from workloads.podset.reconciler import PodSetReconciler
from workloads.podset.server_clock import ServerClock
from workloads.podset.wakeups import PodSetWakeUps
from workloads.surroundings import Surroundings

# A creation may be repeated over 40 s until its outcome is known, and one sync makes up to 500.
RECONCILE_TIMEOUT_SECONDS: Final = 300.0


def build_podset_controller(around: Surroundings) -> Controller:
    """Build the controller and connect it to the informers."""
    expectations = Expectations[Key](
        ttl_seconds=around.settings.expectation_seconds, clock=around.clock
    )
    queue = WorkQueue[Key]("podset", instrumentation=around.runtime, clock=around.clock)
    wakeups = PodSetWakeUps(queue, expectations, around.podsets.store)
    nodes = DisruptedNodes(around.pods.store, wakeups.wake_controller_of)
    server_clock = ServerClock(around.clock)
    controller = Controller(
        "podset",
        PodSetReconciler(
            around.api,
            podsets=around.podsets.store,
            pods=around.pods,
            nodes=nodes,
            writer=_writer(around, expectations, server_clock),
            expectations=expectations,
            metrics=around.metrics,
            clock=server_clock,
            random_source=around.random_source,
        ),
        queue=queue,
        workers=around.settings.podset_workers,
        reconcile_timeout_seconds=RECONCILE_TIMEOUT_SECONDS,
        resync_seconds=around.settings.resync_seconds,
        resync_keys=around.podsets.store.keys,
        instrumentation=around.runtime,
        clock=around.clock,
    )
    around.podsets.on_change(wakeups.on_podset)
    around.pods.on_change(wakeups.on_pod)
    around.nodes.on_change(nodes.on_node)
    return controller


def _writer(
    around: Surroundings, expectations: Expectations[Key], server_clock: ServerClock
) -> PodWriter:
    return PodWriter(
        around.api,
        expectations,
        around.events,
        around.metrics,
        around.clock,
        server_clock,
        max_in_flight=around.settings.max_in_flight,
        doubtful=set(),
    )

"""Puts the PodSet controller together: queue, expectations, handlers, reconciler."""

from typing import Final

from kube_runtime.controller import Controller
from kube_runtime.expectations import Expectations
from kube_runtime.resource import Key
from workloads.podset.pod_writer import PodWriter
from workloads.podset.reconciler import PodSetReconciler
from workloads.podset.wakeups import PodSetWakeUps
from workloads.surroundings import Surroundings

# A creation may be repeated over 40 s until its outcome is known, and one sync makes up to 500.
RECONCILE_TIMEOUT_SECONDS: Final = 300.0


def build_podset_controller(around: Surroundings) -> Controller:
    """Build the controller and connect it to the informers."""
    expectations = Expectations[Key](clock=around.clock)
    controller = Controller(
        "podset",
        PodSetReconciler(
            around.api,
            podsets=around.podsets.store,
            pods=around.pods,
            writer=_writer(around, expectations),
            expectations=expectations,
            metrics=around.metrics,
            clock=around.clock,
            random_source=around.random_source,
        ),
        workers=around.settings.podset_workers,
        reconcile_timeout_seconds=RECONCILE_TIMEOUT_SECONDS,
        resync_seconds=around.settings.resync_seconds,
        resync_keys=around.podsets.store.keys,
        instrumentation=around.runtime,
        clock=around.clock,
    )
    wakeups = PodSetWakeUps(controller.queue, expectations, around.podsets.store)
    around.podsets.on_change(wakeups.on_podset)
    around.pods.on_change(wakeups.on_pod)
    return controller


def _writer(around: Surroundings, expectations: Expectations[Key]) -> PodWriter:
    return PodWriter(
        around.api,
        expectations,
        around.events,
        around.metrics,
        around.clock,
        max_in_flight=around.settings.max_in_flight,
        doubtful=set(),
    )

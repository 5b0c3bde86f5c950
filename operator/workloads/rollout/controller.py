"""Puts the Rollout controller together: queue, expectations, handlers, reconciler."""

from kube_runtime.controller import Controller
from kube_runtime.expectations import Expectations
from kube_runtime.resource import Key
from workloads.rollout.config.keeper import ConfigKeeper
from workloads.rollout.disruption.keeper import BudgetKeeper
from workloads.rollout.inquiry import Inquiry
from workloads.rollout.podset_writer import PodSetWriter
from workloads.rollout.reconciler import RolloutReconciler
from workloads.rollout.telling import Teller
from workloads.rollout.wakeups import RolloutWakeUps
from workloads.surroundings import Surroundings


def build_rollout_controller(around: Surroundings) -> Controller:
    """Build the controller and connect it to the informers."""
    expectations = Expectations[Key](clock=around.clock)
    budgets = BudgetKeeper(around.api, around.budgets)
    controller = Controller(
        "rollout",
        RolloutReconciler(
            around.api,
            rollouts=around.rollouts.store,
            podsets=around.podsets,
            writer=PodSetWriter(around.api, around.events, around.metrics, around.clock),
            inquiry=Inquiry(around.api, around.clock),
            config=_config_keeper(around),
            budgets=budgets,
            expectations=expectations,
            teller=Teller(around.events, around.metrics),
            metrics=around.metrics,
            clock=around.clock,
        ),
        workers=around.settings.rollout_workers,
        resync_seconds=around.settings.resync_seconds,
        resync_keys=around.rollouts.store.keys,
        instrumentation=around.runtime,
        clock=around.clock,
    )
    wakeups = RolloutWakeUps(controller.queue, expectations, around.rollouts.store)
    around.rollouts.on_change(wakeups.on_rollout)
    around.podsets.on_change(wakeups.on_podset)
    around.config.wake(controller.queue, around.rollouts.store)
    budgets.wake(controller.queue, around.rollouts.store)
    return controller


def _config_keeper(around: Surroundings) -> ConfigKeeper:
    return ConfigKeeper(
        around.api,
        around.config,
        around.podsets.store,
        around.clock,
        settle_seconds=around.settings.config_settle_seconds,
    )

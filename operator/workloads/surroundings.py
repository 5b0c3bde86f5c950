"""What both controllers stand upon: one client, the informers, events, metrics, a clock.

Made once by controllers.py and passed to the two factories.
"""

import random
from dataclasses import dataclass

from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.events import EventRecorder
from kube_runtime.informer import Informer
from kube_runtime.instrumentation import Instrumentation
from workloads.metrics import WorkloadsMetrics
from workloads.rollout.config.watching import ConfigWatch
from workloads.settings import WorkloadsSettings


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything that a controller of this part needs from outside."""

    api: ApiClient
    settings: WorkloadsSettings
    pods: Informer
    podsets: Informer
    rollouts: Informer
    nodes: Informer
    """May stay empty, where nodes may not be read: nothing rests on it."""
    config: ConfigWatch
    """May stay empty as well; Rollouts then say so."""
    budgets: Informer
    """May stay empty as well; there are no budgets of ours then."""
    events: EventRecorder
    metrics: WorkloadsMetrics
    runtime: Instrumentation
    clock: Clock
    random_source: random.Random

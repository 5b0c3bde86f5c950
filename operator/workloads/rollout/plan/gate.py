"""A gate's judgement: from one measurement to the next state of the step. Pure.

A measurement that is no answer misses like one that says no: a gate that nobody can ask must not
wave a revision through.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from workloads.rollout.evidence import Evidence, Measurement
from workloads.rollout.standing import StepState, StepStatus
from workloads.rollout.steps import GateStep, Operator

_COMPARE: Final[dict[Operator, Callable[[float, float], bool]]] = {
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.GREATER: operator.gt,
    Operator.AT_LEAST: operator.ge,
    Operator.EQUAL: operator.eq,
    Operator.NOT_EQUAL: operator.ne,
}
_MOST_VALUES_SHOWN: Final = 3


def measured(
    gate: GateStep, step: StepStatus, measurement: Evidence | None, now: datetime
) -> StepStatus | None:
    """Judge a measurement; None when the gate is passed."""
    if not isinstance(measurement, Measurement):
        return step if step.message else replace(step, message="waits for an answer of Prometheus")
    step = replace(step, measured_at=now, state=StepState.MEASURING)
    if not meets(gate, measurement):
        return _missed(gate, step, measurement)
    passing_since = step.passing_since or now
    if now >= passing_since + timedelta(seconds=gate.for_seconds):
        return None
    message = f"measured {_shown(measurement)}, must stay so for {gate.for_seconds} s"
    return replace(step, passing_since=passing_since, message=message)


def meets(gate: GateStep, measurement: Measurement) -> bool:
    """Tell whether there is an answer and all of it meets the threshold; NaN never does."""
    compare = _COMPARE[gate.operator]
    return bool(measurement.values) and all(
        not math.isnan(value) and compare(value, gate.threshold) for value in measurement.values
    )


def _missed(gate: GateStep, step: StepStatus, measurement: Measurement) -> StepStatus:
    failures = step.failures + 1
    message = (
        f"measured {_shown(measurement)}, expected {gate.operator.value} {gate.threshold:g} "
        f"({failures} of {gate.failure_limit + 1} misses)"
    )
    has_failed = failures > gate.failure_limit
    return replace(
        step,
        failures=failures,
        passing_since=None,
        message=message,
        state=StepState.FAILED if has_failed else StepState.MEASURING,
    )


def _shown(measurement: Measurement) -> str:
    if not measurement.values:
        return measurement.problem or "nothing"
    shown = ", ".join(f"{value:g}" for value in measurement.values[:_MOST_VALUES_SHOWN])
    return f"{shown}, …" if len(measurement.values) > _MOST_VALUES_SHOWN else shown

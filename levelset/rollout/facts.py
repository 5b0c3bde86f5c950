"""What a Rollout has beyond a Deployment, in lines: steps, what it waits for, what is held. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from levelset.rollout.snapshot import Blocked, Snapshot
from levelset.rollout.spans import span


def details(seen: Snapshot) -> list[str]:
    """Return the lines; each stays the same until what it tells has changed."""
    return [*_paused(seen), *_step(seen), *_blocked(seen), *_held(seen), *_template(seen)]


def step_text(step: Mapping[str, Any]) -> str:
    """Describe one entry of spec.steps."""
    if "replicas" in step:
        return f"replicas {step['replicas']}"
    if "pause" in step:
        seconds = (step["pause"] or {}).get("seconds")
        return f"pause for {span(seconds)}" if seconds else "pause until resumed"
    if "gate" in step:
        return _gate_text(step["gate"] or {})
    return "job" if "job" in step else "unknown step"


def blocked_text(blocked: Blocked) -> str:
    """Say what is in the way, since when, and the evidence."""
    many = f", {blocked.count} pods" if blocked.count > 1 else ""
    since = f" since {blocked.since:%H:%M:%S}" if blocked.since else ""
    where = f"{blocked.pod}: " if blocked.pod else ""
    return f"blocked by {blocked.reason}{since}{many}: {where}{blocked.message}"


def _paused(seen: Snapshot) -> Iterator[str]:
    if seen.is_paused:
        yield f"paused; goes on with: kubectl levelset rollout resume rollout/{seen.name}"


def _step(seen: Snapshot) -> Iterator[str]:
    step = seen.step
    if step is None or not seen.steps:
        return
    if not 0 <= step.index < len(seen.steps):
        return  # all done
    message = f": {step.message}" if step.message else ""
    known = step_text(seen.steps[step.index])
    yield f"step {step.index + 1} of {len(seen.steps)}, {known}{message}"


def _blocked(seen: Snapshot) -> Iterator[str]:
    if seen.blocked is not None:
        yield blocked_text(seen.blocked)


def _held(seen: Snapshot) -> Iterator[str]:
    if seen.held is not None:
        yield (
            f"revision {seen.held.revision} is held; release it with a new template or: "
            f"kubectl levelset rollout retry rollout/{seen.name}"
        )


def _template(seen: Snapshot) -> Iterator[str]:
    valid = seen.condition("TemplateValid")
    if valid is not None and valid.status == "False" and seen.blocked is None:
        yield f"template refused: {valid.message}"


def _gate_text(gate: Mapping[str, Any]) -> str:
    threshold = gate.get("threshold") or {}
    seconds = gate.get("forSeconds")
    lasting = f" for {span(seconds)}" if seconds else ""
    limit = f"{threshold.get('operator', '')} {threshold.get('value', '')}".strip()
    return f"gate {gate.get('query', '')} {limit}{lasting}"

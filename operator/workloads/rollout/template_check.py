"""Asks the API server whether it would take a pod of a template: a dry run, before anything is done.

An answer holds for the template it was given for; a refusal is asked again with growing gaps, since
policies and service accounts come later than they should. In memory: a restart costs one request.
"""

import logging
from dataclasses import dataclass
from typing import Final

from kube_runtime import logs
from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.errors import ApiError, TooManyRequests
from kube_runtime.resource import PODS, Json, Key
from workloads import names, templates
from workloads.naming import MAX_PODSET_NAME_CHARS
from workloads.podset.pod_body import pod_factory
from workloads.rollout.podset_writer import podset_body
from workloads.rollout.resources import Rollout
from workloads.rollout.revisions import begin_revision
from workloads.rollout.template_verdict import VALID, TemplateVerdict, verdict_of
from workloads.writes import is_namespace_terminating

_log: Final = logging.getLogger(__name__)
_FIRST_RETRY_SECONDS: Final = 5.0
_LAST_RETRY_SECONDS: Final = 300.0
_ASKED_FOR: Final = "template-check"


@dataclass(frozen=True, slots=True)
class _Answer:
    asked_for: tuple[str, int]
    verdict: TemplateVerdict
    until: float = 0.0
    refusals: int = 0


class TemplateCheck:
    """Remembers what was said of the template of each Rollout that is about to begin."""

    def __init__(self, api: ApiClient, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._answers: dict[Key, _Answer] = {}

    def forget(self, key: Key) -> None:
        """Drop what was said: the rollout has begun, or the Rollout is gone."""
        self._answers.pop(key, None)

    async def ask(self, raw: Json, rollout: Rollout) -> TemplateVerdict:
        """Return the verdict; raises ApiError when nothing can be told now."""
        asked_for = (templates.hash_of(rollout.template, 0), rollout.generation)
        last = self._answers.get(rollout.key)
        if last is not None and last.asked_for == asked_for:
            left = last.until - self._clock.monotonic()
            if last.verdict.blocks is None:
                return last.verdict
            if left > 0:
                return _again_in(last.verdict, left)
        refusals = last.refusals if last is not None and last.asked_for == asked_for else 0
        verdict = await self._dry_run(raw, rollout)
        wait = min(_FIRST_RETRY_SECONDS * 2**refusals, _LAST_RETRY_SECONDS)
        self._answers[rollout.key] = _Answer(
            asked_for, verdict, self._clock.monotonic() + wait, min(refusals + 1, 10)
        )
        return verdict if verdict.blocks is None else _again_in(verdict, wait)

    async def _dry_run(self, raw: Json, rollout: Rollout) -> TemplateVerdict:
        try:
            await self._api.create(
                PODS, _pod(raw, rollout), field_manager=names.FIELD_MANAGER, dry_run=True
            )
        except TooManyRequests:
            raise
        except ApiError as error:
            verdict = verdict_of(error)
            if verdict is None or is_namespace_terminating(error):
                raise
            _log.info(
                "template checked",
                extra=logs.fields(object=rollout.key, verdict=verdict.reason, error=str(error)),
            )
            return verdict
        return VALID


def _pod(raw: Json, rollout: Rollout) -> Json:
    """Build a pod as the new PodSet would; without an owner, since that has no UID yet."""
    podset = podset_body(raw, begin_revision(rollout))
    podset["metadata"]["uid"] = _ASKED_FOR
    name = podset["metadata"]["name"][:MAX_PODSET_NAME_CHARS].rstrip("-.")
    pod = pod_factory(podset)(f"{name}-check")
    metadata = {key: value for key, value in pod["metadata"].items() if key != "ownerReferences"}
    return {**pod, "metadata": metadata}


def _again_in(verdict: TemplateVerdict, seconds: float) -> TemplateVerdict:
    return TemplateVerdict(verdict.status, verdict.reason, verdict.message, seconds)

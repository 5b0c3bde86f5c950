"""Finds out what a plan has to know besides what the store shows: the edges of the steps.

Called by the reconciler with the questions of the plan; it decides nothing.
"""

from dataclasses import dataclass

from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.resource import Json, Key
from workloads.rollout import prometheus
from workloads.rollout.evidence import Evidence
from workloads.rollout.hook_jobs import HookJobs
from workloads.rollout.plan import Questions
from workloads.rollout.resources import Rollout
from workloads.rollout.steps import GateStep
from workloads.rollout.template_check import TemplateCheck
from workloads.rollout.template_verdict import TemplateVerdict


@dataclass(frozen=True, slots=True)
class Findings:
    """The answers."""

    verdict: TemplateVerdict | None = None
    evidence: Evidence | None = None


class Inquiry:
    """Asks the API server and Prometheus for all Rollouts of the process."""

    def __init__(self, api: ApiClient, clock: Clock) -> None:
        self._check = TemplateCheck(api, clock)
        self._jobs = HookJobs(api, clock)

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a Rollout that is gone."""
        self._check.forget(key)

    async def find_out(self, raw: Json, rollout: Rollout, asked: Questions) -> Findings:
        """Answer the questions of a plan."""
        verdict = None
        if asked.is_template_new:
            verdict = await self._check.ask(raw, rollout)
        else:
            self._check.forget(rollout.key)
        return Findings(verdict, await self._look_at_step(asked))

    async def _look_at_step(self, asked: Questions) -> Evidence | None:
        if asked.step is None:
            return None
        if isinstance(asked.step, GateStep):
            return await prometheus.measure(asked.step)
        return await self._jobs.outcome(asked.step)

"""Verdicts that were reached before: bounded, expiring, one flight per question.

What a verdict depends on is in its key: where the image is, its digest, the policy's version, the
keys and roots it used, and with whose rights the registry was read. So a tenant never profits from
what another tenant's credentials could see, and a changed policy asks again at once.
Errors are never kept: a registry that was down for a second must not deny for thirty.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.resource import Uid
from supply_chain.plan.verdict import PolicyVerdict
from supply_chain.registry.reference import Digest
from supply_chain.single_flight import SingleFlight

ALLOW_SECONDS: Final = 3600.0
DENY_SECONDS: Final = 30.0
MAX_ENTRIES: Final = 20_000

Use = Literal["hit", "miss", "shared"]


class Question(NamedTuple):
    """All that a policy's verdict on an image depends on."""

    name: str
    digest: Digest
    policy: Uid
    generation: int
    fingerprint: str
    scope: str


@dataclass(frozen=True, slots=True)
class _Kept:
    verdict: PolicyVerdict
    until: float


class VerdictCache:
    """The least recently used entry goes first."""

    def __init__(
        self,
        *,
        allow_seconds: float = ALLOW_SECONDS,
        deny_seconds: float = DENY_SECONDS,
        max_entries: int = MAX_ENTRIES,
        observe: Callable[[Use], None] = lambda _: None,
        observe_size: Callable[[int], None] = lambda _: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._allow_seconds = allow_seconds
        self._deny_seconds = deny_seconds
        self._max_entries = max_entries
        self._observe = observe
        self._observe_size = observe_size
        self._clock = clock
        self._kept: OrderedDict[Question, _Kept] = OrderedDict()
        self._flights = SingleFlight[Question, PolicyVerdict]()

    def __len__(self) -> int:
        return len(self._kept)

    async def get(
        self, question: Question, answer: Callable[[], Awaitable[PolicyVerdict]]
    ) -> PolicyVerdict:
        """Return the kept verdict, or reach one by `answer` and keep it."""
        kept = self._kept.get(question)
        if kept is not None and self._clock.monotonic() < kept.until:
            self._kept.move_to_end(question)
            self._observe("hit")
            return kept.verdict
        self._observe("shared" if question in self._flights else "miss")

        async def reach() -> PolicyVerdict:
            verdict = await answer()
            self._keep(question, verdict)
            return verdict

        return await self._flights.run(question, reach)

    def _keep(self, question: Question, verdict: PolicyVerdict) -> None:
        seconds = self._allow_seconds if verdict.is_allowed else self._deny_seconds
        self._kept[question] = _Kept(verdict, self._clock.monotonic() + seconds)
        self._kept.move_to_end(question)
        while len(self._kept) > self._max_entries:
            self._kept.popitem(last=False)
        self._observe_size(len(self._kept))

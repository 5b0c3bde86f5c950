"""The verdict cache: who shares what, for how long."""

import asyncio

import pytest

from kube_runtime.clock import FakeClock
from kube_runtime.resource import Uid
from supply_chain.cache import Question, VerdictCache
from supply_chain.errors import RegistryUnreachable
from supply_chain.plan.verdict import PolicyVerdict
from supply_chain.registry.reference import Digest

QUESTION = Question("r.test/app", Digest("sha256:" + "0" * 64), Uid("u"), 1, "f", "anonymous")
YES = PolicyVerdict("p", is_allowed=True, why="signed")
NO = PolicyVerdict("p", is_allowed=False, why="not signed")


class Asked:
    """An answer that counts how often it was given."""

    def __init__(self, verdict: PolicyVerdict | Exception) -> None:
        self.verdict = verdict
        self.times = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> PolicyVerdict:
        self.times += 1
        await self.gate.wait()
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


@pytest.mark.parametrize(("verdict", "seconds"), [(YES, 3600), (NO, 30)])
async def test_a_verdict_is_kept_for_its_time_and_no_longer(
    verdict: PolicyVerdict, seconds: float
) -> None:
    clock = FakeClock()
    cache = VerdictCache(clock=clock)
    asked = Asked(verdict)

    await cache.get(QUESTION, asked)
    clock.shift(seconds - 1)
    await cache.get(QUESTION, asked)
    assert asked.times == 1
    clock.shift(1)
    await cache.get(QUESTION, asked)
    assert asked.times == 2


async def test_an_error_is_never_kept() -> None:
    cache = VerdictCache()
    asked = Asked(RegistryUnreachable("down"))

    for _ in range(2):
        with pytest.raises(RegistryUnreachable):
            await cache.get(QUESTION, asked)

    assert asked.times == 2
    assert len(cache) == 0


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "r.test/other"},
        {"digest": "sha256:" + "1" * 64},
        {"policy": "v"},
        {"generation": 2},
        {"fingerprint": "g"},
        {"scope": "somebody"},
    ],
    ids=lambda changed: next(iter(changed)),
)
async def test_whatever_the_verdict_depends_on_asks_anew(changed: dict[str, str]) -> None:
    cache = VerdictCache()
    asked = Asked(YES)

    await cache.get(QUESTION, asked)
    await cache.get(QUESTION._replace(**changed), asked)  # type: ignore[arg-type]  # by its name

    assert asked.times == 2


async def test_a_hundred_questions_at_once_are_answered_by_one_flight() -> None:
    uses: list[str] = []
    cache = VerdictCache(observe=uses.append)
    asked = Asked(YES)

    verdicts = await asyncio.gather(*(cache.get(QUESTION, asked) for _ in range(100)))

    assert verdicts == [YES] * 100
    assert asked.times == 1
    assert (uses.count("miss"), uses.count("shared")) == (1, 99)


async def test_who_gives_up_does_not_stop_the_flight_for_the_others() -> None:
    cache = VerdictCache()
    asked = Asked(YES)
    asked.gate.clear()
    impatient = asyncio.create_task(cache.get(QUESTION, asked))
    patient = asyncio.create_task(cache.get(QUESTION, asked))
    await asyncio.sleep(0)

    impatient.cancel()
    await asyncio.sleep(0)
    asked.gate.set()

    assert await patient == YES
    assert asked.times == 1


async def test_the_cache_is_bounded_and_forgets_the_least_recently_used() -> None:
    cache = VerdictCache(max_entries=2)
    asked = Asked(YES)
    keep, forget, new = (QUESTION._replace(name=name) for name in ("keep", "forget", "new"))

    for question in (keep, forget, keep, new, keep):
        await cache.get(question, asked)
    assert asked.times == 3
    await cache.get(forget, asked)

    assert asked.times == 4
    assert len(cache) == 2

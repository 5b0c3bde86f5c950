"""Who may scrape, and what is remembered of it."""

import asyncio
from dataclasses import dataclass, field

import pytest

from exporters.authorization import (
    ALLOW_SECONDS,
    DENY_SECONDS,
    OUTAGE_SECONDS,
    ScrapeAuthorization,
)
from kube_runtime.clock import FakeClock
from kube_runtime.errors import Unreachable
from kube_runtime.resource import Json, Resource


@dataclass
class FakeApiServer:
    """Knows tokens and rights, as the real one does; can be unreachable."""

    users: dict[str, str] = field(default_factory=lambda: {"good": "prometheus", "poor": "nobody"})
    allowed: set[str] = field(default_factory=lambda: {"prometheus"})
    is_down: bool = False
    reviews: list[Json] = field(default_factory=list)

    async def create(self, resource: Resource, body: Json) -> Json:
        await asyncio.sleep(0)
        if self.is_down:
            raise Unreachable("connection refused")
        self.reviews.append(body)
        if resource.kind == "TokenReview":
            user = self.users.get(body["spec"]["token"])
            if user is None:
                return {"status": {"authenticated": False, "error": "unknown"}}
            return {"status": {"authenticated": True, "user": {"username": user}}}
        return {"status": {"allowed": body["spec"]["user"] in self.allowed}}


@pytest.fixture
def server() -> FakeApiServer:
    return FakeApiServer()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def authorization(server: FakeApiServer, clock: FakeClock) -> ScrapeAuthorization:
    return ScrapeAuthorization(server, clock=clock)


async def test_a_known_token_with_the_right_is_allowed(
    authorization: ScrapeAuthorization, server: FakeApiServer
) -> None:
    verdict = await authorization.verdict("Bearer good")

    assert verdict == "allowed"
    attributes = server.reviews[1]["spec"]["nonResourceAttributes"]
    assert attributes == {"path": "/metrics", "verb": "get"}


async def test_a_known_token_without_the_right_is_denied(
    authorization: ScrapeAuthorization,
) -> None:
    assert await authorization.verdict("bearer poor") == "denied"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic Z29vZA==",
        "good",
        "Bearer bad",
        "Bearer " + "x" * 20000,
        "Bearer \udcff",
    ],
)
async def test_no_good_token_is_unauthenticated(
    authorization: ScrapeAuthorization, header: str
) -> None:
    assert await authorization.verdict(header) == "unauthenticated"


@pytest.mark.parametrize("header", ["", "Basic Z29vZA==", "Bearer " + "x" * 20000])
async def test_what_cannot_be_a_token_never_reaches_the_api_server(
    authorization: ScrapeAuthorization, server: FakeApiServer, header: str
) -> None:
    await authorization.verdict(header)

    assert server.reviews == []


@pytest.mark.parametrize(
    ("token", "seconds"), [("good", ALLOW_SECONDS), ("poor", DENY_SECONDS), ("bad", DENY_SECONDS)]
)
async def test_a_decision_is_remembered_for_its_time(
    authorization: ScrapeAuthorization,
    server: FakeApiServer,
    clock: FakeClock,
    token: str,
    seconds: float,
) -> None:
    first = await authorization.verdict(f"Bearer {token}")
    asked = len(server.reviews)

    clock.shift(seconds - 1)
    assert await authorization.verdict(f"Bearer {token}") == first
    assert len(server.reviews) == asked

    clock.shift(2)
    assert await authorization.verdict(f"Bearer {token}") == first
    assert len(server.reviews) == 2 * asked


async def test_many_scrapes_at_once_ask_once(
    authorization: ScrapeAuthorization, server: FakeApiServer
) -> None:
    verdicts = await asyncio.gather(*(authorization.verdict("Bearer good") for _ in range(20)))

    assert set(verdicts) == {"allowed"}
    assert len(server.reviews) == 2


async def test_a_scraper_that_hangs_up_does_not_fail_the_others(
    authorization: ScrapeAuthorization,
) -> None:
    first = asyncio.create_task(authorization.verdict("Bearer good"))
    second = asyncio.create_task(authorization.verdict("Bearer good"))
    await asyncio.sleep(0)

    first.cancel()

    assert await second == "allowed"


async def test_a_remembered_yes_survives_a_short_outage_and_no_longer(
    authorization: ScrapeAuthorization, server: FakeApiServer, clock: FakeClock
) -> None:
    await authorization.verdict("Bearer good")
    server.is_down = True

    clock.shift(ALLOW_SECONDS + 1)
    assert await authorization.verdict("Bearer good") == "outage_allowed"

    clock.shift(OUTAGE_SECONDS)
    assert await authorization.verdict("Bearer good") == "error"


async def test_an_outage_never_turns_a_stranger_or_a_no_into_a_yes(
    authorization: ScrapeAuthorization, server: FakeApiServer, clock: FakeClock
) -> None:
    await authorization.verdict("Bearer poor")
    server.is_down = True
    clock.shift(DENY_SECONDS + 1)

    assert await authorization.verdict("Bearer poor") == "error"
    assert await authorization.verdict("Bearer stranger") == "error"


async def test_a_right_that_was_taken_away_ends_with_its_time(
    authorization: ScrapeAuthorization, server: FakeApiServer, clock: FakeClock
) -> None:
    await authorization.verdict("Bearer good")
    server.allowed.clear()
    clock.shift(ALLOW_SECONDS + 1)

    assert await authorization.verdict("Bearer good") == "denied"


async def test_a_flood_of_bad_tokens_does_not_push_a_scraper_out(
    authorization: ScrapeAuthorization, server: FakeApiServer, clock: FakeClock
) -> None:
    await authorization.verdict("Bearer good")
    for number in range(2000):
        clock.shift(0.1)
        await authorization.verdict(f"Bearer bad-{number}")
    server.is_down = True

    assert await authorization.verdict("Bearer good") == "allowed"


async def test_a_flood_of_bad_tokens_leaves_the_api_server_to_the_controllers(
    authorization: ScrapeAuthorization, server: FakeApiServer, clock: FakeClock
) -> None:
    scrapes = [
        asyncio.create_task(authorization.verdict(f"Bearer bad-{number}")) for number in range(200)
    ]

    await clock.settle()
    assert len(server.reviews) == 20
    await clock.advance(1)
    assert len(server.reviews) == 30

    await clock.advance(20)
    assert {scrape.result() for scrape in scrapes} == {"unauthenticated"}

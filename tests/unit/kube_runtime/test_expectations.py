import pytest

from kube_runtime.clock import FakeClock
from kube_runtime.expectations import Expectations, Outlook, parse_resource_version
from kube_runtime.resource import Uid

OWNER = "ns/web"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def expectations(clock: FakeClock) -> Expectations[str]:
    return Expectations(clock=clock)


def test_an_owner_that_did_nothing_is_satisfied(expectations: Expectations[str]) -> None:
    assert expectations.outlook(OWNER) is Outlook.SATISFIED


def test_creations_are_waited_for_by_name(expectations: Expectations[str]) -> None:
    expectations.expect_creations(OWNER, ["a", "b"])

    expectations.creation_observed(OWNER, "a")
    expectations.creation_observed(OWNER, "a")
    expectations.creation_observed(OWNER, "somebody-elses")

    assert not expectations.is_satisfied(OWNER)
    expectations.creation_observed(OWNER, "b")
    assert expectations.is_satisfied(OWNER)


def test_deletions_are_waited_for_by_uid_so_that_a_namesake_does_not_count(
    expectations: Expectations[str],
) -> None:
    expectations.expect_deletions(OWNER, [Uid("1")])

    expectations.deletion_observed(OWNER, Uid("2"))

    assert not expectations.is_satisfied(OWNER)
    expectations.deletion_observed(OWNER, Uid("1"))
    assert expectations.is_satisfied(OWNER)


def test_both_must_be_seen(expectations: Expectations[str]) -> None:
    expectations.expect_creations(OWNER, ["a"])
    expectations.expect_deletions(OWNER, [Uid("1")])

    expectations.creation_observed(OWNER, "a")

    assert not expectations.is_satisfied(OWNER)


def test_owners_do_not_wait_for_each_other(expectations: Expectations[str]) -> None:
    expectations.expect_creations(OWNER, ["a"])

    assert expectations.is_satisfied("ns/other")


def test_what_never_comes_ends_in_a_look_and_not_in_trust(
    expectations: Expectations[str], clock: FakeClock
) -> None:
    expectations.expect_creations(OWNER, ["a"])
    clock.shift(299)
    before = expectations.outlook(OWNER)

    clock.shift(2)

    assert before is Outlook.WAITING
    assert expectations.expired(OWNER)
    assert not expectations.is_satisfied(OWNER)
    assert expectations.outlook(OWNER) is Outlook.LOOK
    assert expectations.pending(OWNER) == (frozenset({"a"}), frozenset())


def test_a_live_list_settles_what_expired(
    expectations: Expectations[str], clock: FakeClock
) -> None:
    expectations.expect_deletions(OWNER, [Uid("1")])
    clock.shift(400)

    expectations.forget(OWNER)

    assert expectations.outlook(OWNER) is Outlook.SATISFIED
    assert len(expectations) == 0


def test_a_new_write_starts_the_time_anew(
    expectations: Expectations[str], clock: FakeClock
) -> None:
    expectations.expect_creations(OWNER, ["a"])
    clock.shift(200)
    expectations.expect_creations(OWNER, ["b"])

    clock.shift(200)

    assert expectations.outlook(OWNER) is Outlook.WAITING
    assert expectations.seconds_until_expiry(OWNER) == 100


def test_the_gate_opens_when_the_store_has_seen_the_newest_write(
    expectations: Expectations[str],
) -> None:
    expectations.record_write(OWNER, "99")
    expectations.record_write(OWNER, "101")
    expectations.record_write(OWNER, "100")

    assert not expectations.store_has_seen_writes(OWNER, "100")
    assert expectations.store_has_seen_writes(OWNER, "101")
    assert len(expectations) == 0


def test_versions_are_compared_as_numbers(expectations: Expectations[str]) -> None:
    expectations.record_write(OWNER, "99")

    assert expectations.store_has_seen_writes(OWNER, "100")


def test_a_store_that_has_listed_nothing_has_seen_nothing(
    expectations: Expectations[str],
) -> None:
    expectations.record_write(OWNER, "99")

    assert not expectations.store_has_seen_writes(OWNER, "")


def test_each_kind_has_its_own_gate(expectations: Expectations[str]) -> None:
    expectations.record_write(OWNER, "10", kind="Pod")
    expectations.record_write(OWNER, "20", kind="PodSet")

    assert expectations.outlook(OWNER, store_resource_version="15", kind="Pod") is Outlook.SATISFIED
    assert (
        expectations.outlook(OWNER, store_resource_version="15", kind="PodSet") is Outlook.WAITING
    )


def test_a_gate_that_stays_shut_ends_in_a_look_too(
    expectations: Expectations[str], clock: FakeClock
) -> None:
    expectations.record_write(OWNER, "10")

    clock.shift(301)

    assert expectations.outlook(OWNER, store_resource_version="9") is Outlook.LOOK


def test_nothing_is_kept_of_owners_that_are_done(expectations: Expectations[str]) -> None:
    for number in range(100):
        owner = f"ns/{number}"
        expectations.expect_creations(owner, ["a"])
        expectations.record_write(owner, "5")
        expectations.creation_observed(owner, "a")
        expectations.store_has_seen_writes(owner, "5")

    assert len(expectations) == 0
    assert expectations.seconds_until_expiry("ns/1") is None
    assert expectations.pending("ns/1") == (frozenset(), frozenset())


@pytest.mark.parametrize("text", ["", "abc", "-1", "1.5"])
def test_what_is_no_number_is_no_version(text: str) -> None:
    assert parse_resource_version(text) is None

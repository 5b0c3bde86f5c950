from datetime import UTC, datetime, timedelta

import pytest

from kube_runtime.conditions import (
    Condition,
    Verdict,
    find_condition,
    is_true,
    kstatus,
    parse_conditions,
    parse_time,
    remove_condition,
    set_condition,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def test_a_new_condition_is_dated_now() -> None:
    [condition] = set_condition([], Condition("Ready", "True", "Fine"), NOW)

    assert condition.last_transition_time == NOW


def test_the_date_stays_while_the_status_stays_whatever_else_changes() -> None:
    before = set_condition([], Condition("Ready", "False", "Starting", "0 of 3", 1), NOW)

    [condition] = set_condition(before, Condition("Ready", "False", "Failing", "1 of 3", 2), LATER)

    assert condition.last_transition_time == NOW
    assert (condition.reason, condition.message) == ("Failing", "1 of 3")
    assert condition.observed_generation == 2


def test_the_date_moves_when_the_status_flips() -> None:
    before = set_condition([], Condition("Ready", "False", "Starting"), NOW)

    [condition] = set_condition(before, Condition("Ready", "True", "Fine"), LATER)

    assert condition.last_transition_time == LATER


def test_the_others_keep_their_places() -> None:
    before = [Condition("A", "True", "x"), Condition("B", "True", "x"), Condition("C", "True", "x")]

    after = set_condition(before, Condition("B", "False", "y"), NOW)

    assert [condition.type for condition in after] == ["A", "B", "C"]
    assert [c.type for c in remove_condition(after, "B")] == ["A", "C"]


def test_kstatus_has_reconciling_and_stalled_only_while_they_are_true() -> None:
    busy = kstatus(
        [],
        NOW,
        generation=2,
        ready=Verdict("False", "Progressing"),
        reconciling=Verdict("True", "Rolling", "1 of 3"),
    )
    stalled = kstatus(
        busy,
        LATER,
        generation=2,
        ready=Verdict("False", "Failed"),
        stalled=Verdict("True", "ImagePull"),
    )
    done = kstatus(stalled, LATER, generation=3, ready=Verdict("True", "Complete"))

    assert [c.type for c in busy] == ["Ready", "Reconciling"]
    assert [c.type for c in stalled] == ["Ready", "Stalled"]
    assert [(c.type, c.status, c.observed_generation) for c in done] == [("Ready", "True", 3)]
    assert is_true(done, "Ready")
    assert not is_true(done, "Stalled")


def test_a_no_op_writes_the_very_same_list() -> None:
    once = kstatus([], NOW, generation=1, ready=Verdict("True", "Complete"))

    twice = kstatus(once, LATER, generation=1, ready=Verdict("True", "Complete"))

    assert twice == once


def test_what_is_written_can_be_read() -> None:
    condition = Condition("Ready", "True", "Fine", "all of it", 3, NOW)

    raw = condition.to_json()

    assert raw["lastTransitionTime"] == "2026-01-01T00:00:00Z"
    assert Condition.from_json(raw) == condition


def test_a_long_message_is_cut_to_what_the_api_takes() -> None:
    assert len(Condition("Ready", "True", "Fine", "x" * 40_000).to_json()["message"]) == 32768


@pytest.mark.parametrize("raw", [None, "text", {}, ["text", 1]])
def test_broken_conditions_read_as_none(raw: object) -> None:
    assert parse_conditions(raw) == []


def test_half_a_condition_reads_as_unknown() -> None:
    [condition] = parse_conditions([{"type": "Ready", "status": "Maybe"}])

    assert condition == Condition("Ready", "Unknown", "")
    assert find_condition([condition], "Stalled") is None


def test_times_of_both_kinds_are_read_and_nonsense_is_none() -> None:
    assert parse_time("2026-01-01T00:00:00Z") == NOW
    assert parse_time("2026-01-01T00:00:00.000000Z") == NOW
    assert parse_time("2026-01-01T00:00:00") == NOW
    assert parse_time("yesterday") is None
    assert parse_time(5) is None

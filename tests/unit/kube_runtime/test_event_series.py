from kube_runtime.event_series import COMBINED_PREFIX, Decision, EventSeries, Subject

SUBJECT = Subject("uid", "Normal", "Created", "Reconcile")


def observe(
    series: EventSeries, note: str, now: float = 0, *, subject: Subject = SUBJECT, name: str = "n"
) -> Decision | None:
    return series.observe(subject, note, name=name, now=now)


def test_the_first_event_is_an_object_and_its_repeats_are_counted_in_it() -> None:
    series = EventSeries()

    assert observe(series, "made a", name="n1") == Decision("n1", "made a", 1)
    assert observe(series, "made a", 5, name="n2") == Decision("n1", "made a", 2)
    assert observe(series, "made b", 6, name="n3") == Decision("n3", "made b", 1)


def test_different_objects_reasons_and_types_are_different_series() -> None:
    series = EventSeries()
    subjects = [
        SUBJECT,
        SUBJECT._replace(uid="other"),
        SUBJECT._replace(reason="Deleted"),
        SUBJECT._replace(type="Warning"),
        SUBJECT._replace(action="Adopt"),
    ]

    decisions = [observe(series, "x", subject=subject) for subject in subjects]

    assert [decision.times for decision in decisions if decision] == [1] * 5


def test_chatter_that_differs_only_in_its_text_is_combined_after_ten() -> None:
    series = EventSeries()

    decisions = [observe(series, f"made {number}") for number in range(12)]

    assert [d.note for d in decisions[:10] if d] == [f"made {number}" for number in range(10)]
    assert decisions[10] == Decision("n", COMBINED_PREFIX + "made 10", 1)
    assert decisions[11] == Decision("n", COMBINED_PREFIX + "made 11", 2)


def test_chatter_is_told_one_by_one_again_after_a_quiet_time() -> None:
    series = EventSeries()
    for number in range(12):
        observe(series, f"made {number}")

    decision = observe(series, "made 12", 601)

    assert decision is not None
    assert decision.note == "made 12"


def test_one_object_may_cause_25_writes_and_then_one_each_five_minutes() -> None:
    series = EventSeries()

    burst = [observe(series, "again") for _ in range(30)]
    early = observe(series, "again", 299)
    later = observe(series, "again", 300)

    assert [decision is not None for decision in burst] == [True] * 25 + [False] * 5
    assert early is None
    assert later is not None
    assert later.times == 32, "what was cut still counts"


def test_another_object_is_not_silenced_by_a_loud_one() -> None:
    series = EventSeries()
    for _ in range(100):
        observe(series, "again")

    assert observe(series, "x", subject=SUBJECT._replace(uid="quiet")) is not None


def test_an_event_that_was_cut_is_not_counted_upon_later() -> None:
    series = EventSeries()
    for _ in range(25):
        observe(series, "again")
    cut = observe(series, "new")

    later = observe(series, "new", 300, name="later")

    assert cut is None
    assert later == Decision("later", "new", 1)


def test_a_series_ends_before_its_object_runs_out() -> None:
    series = EventSeries()
    observe(series, "again", 0, name="old")

    assert observe(series, "again", 3001, name="new") == Decision("new", "again", 1)


def test_a_restarted_series_goes_on_in_the_new_object() -> None:
    series = EventSeries()
    observe(series, "again", name="old")

    series.restart(SUBJECT, "again", name="new", now=1)

    assert observe(series, "again", 2, name="newer") == Decision("new", "again", 2)


def test_memory_is_bounded() -> None:
    series = EventSeries(cache_size=10)

    for number in range(1000):
        observe(series, "x", subject=SUBJECT._replace(uid=str(number)))

    assert len(series._series) == len(series._similar) == len(series._buckets) == 10

"""Whether a PodSet already is the Rollout with its configuration: tables of what is there."""

from dataclasses import replace

import pytest

from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads import names, templates
from workloads.podset.resources import PodSet
from workloads.rollout.config.matching import (
    Match,
    Question,
    Sight,
    find_candidates,
    find_match,
    missing,
    questions,
)
from workloads.rollout.config.record import (
    ABSENT,
    AS_IS,
    Record,
    Version,
    copies_in,
    copy_name,
    id_of,
    record_of,
    to_text,
)
from workloads.rollout.config.references import Source, references_of, rewritten

UID = Uid("rollout")
A = Source("ConfigMap", "a")
B = Source("Secret", "b")
V1, V2 = Version("u", "1"), Version("u", "2")
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [
            {
                "name": "web",
                "envFrom": [
                    {"configMapRef": {"name": "a"}},
                    {"secretRef": {"name": "b", "optional": True}},
                ],
            }
        ]
    },
}
REFERENCES = references_of(TEMPLATE)


def name(source: Source, version: Version) -> str:
    return copy_name(UID, source, version)


def podset(number: int, record: Record) -> PodSet:
    template = templates.with_hash(rewritten(TEMPLATE, copies_in(record)), f"h{number}")
    selector = {"matchLabels": {"app": "web"}}
    annotations = {names.REVISION: str(number)}
    if record:
        annotations[names.CONFIG] = to_text(record)
    return PodSet(
        key=Key("default", f"p{number}"),
        uid=Uid(f"p{number}"),
        replicas=1,
        selector=LabelSelector.parse(selector),
        raw_selector=selector,
        template=template,
        annotations=annotations,
    )


def match(sight: Sight, *podsets: PodSet) -> Match | None:
    return find_match(REFERENCES, find_candidates(TEMPLATE, podsets), sight)


def sight(a: Version | None, b: Version | None = None, *equal: Question) -> Sight:
    return Sight(UID, {A: a, B: b}, equal=frozenset(equal))


def test_the_same_versions_are_the_same_configuration() -> None:
    present = podset(1, {A: name(A, V1), B: ABSENT})

    found = match(sight(V1), present)

    assert found is not None
    assert found.candidate.podset is present
    assert found.take == {}


def test_another_version_with_the_same_data_is_the_same_configuration() -> None:
    present = podset(1, {A: name(A, V1), B: ABSENT})
    question = Question(A, name(A, V1))

    assert match(sight(V2), present) is None
    assert questions(REFERENCES, find_candidates(TEMPLATE, [present]), sight(V2)) == {question}
    assert match(sight(V2, None, question), present) is not None


def test_the_data_of_an_older_revision_takes_that_one_up_again() -> None:
    old, new = podset(1, {A: name(A, V1), B: ABSENT}), podset(2, {A: name(A, V2), B: ABSENT})
    third = Version("u", "3")

    found = match(sight(third, None, Question(A, name(A, V1))), old, new)

    assert found is not None
    assert found.candidate.podset is old


@pytest.mark.parametrize("version", [V1, V2], ids=["as it was", "changed since"])
def test_a_podset_without_a_record_is_taken_up_and_not_replaced(version: Version) -> None:
    found = match(sight(version), podset(1, {}))

    assert found is not None
    assert found.take == {A: name(A, version), B: ABSENT}


def test_only_the_newest_revision_is_taken_up() -> None:
    old, new = podset(1, {}), podset(2, {A: name(A, V1), B: ABSENT})

    assert match(sight(V2), old, new) is None


def test_what_pods_wait_for_is_recorded_when_it_comes() -> None:
    found = match(sight(V1), podset(1, {A: ABSENT, B: ABSENT}))

    assert found is not None
    assert found.take == {A: name(A, V1)}
    assert found.record == {A: name(A, V1), B: ABSENT}


def test_an_optional_source_that_comes_or_goes_is_a_change() -> None:
    without = podset(1, {A: name(A, V1), B: ABSENT})
    with_it = podset(2, {A: name(A, V1), B: name(B, V1)})

    assert match(sight(V1, V1), without) is None
    assert match(sight(V1, None), with_it) is None


def test_a_source_that_was_deleted_changes_nothing_for_those_with_a_copy() -> None:
    present = podset(1, {A: name(A, V1), B: ABSENT})

    assert match(sight(None), present) is not None
    assert missing(REFERENCES, record_of(present), sight(None)) == ()


def test_a_required_source_that_was_never_there_is_missing() -> None:
    assert missing(REFERENCES, {}, sight(None)) == (A,)


def test_what_cannot_be_read_counts_as_unchanged() -> None:
    present = podset(1, {A: name(A, V1), B: name(B, V1)})

    assert match(Sight(UID, {}), present) == Match(find_candidates(TEMPLATE, [present])[0])
    assert Sight(UID, {A: V1}).record(REFERENCES) == {A: name(A, V1)}


def test_what_is_never_copied_stays_under_its_name() -> None:
    tokens = Sight(UID, {A: V1, B: V1}, as_is=frozenset({B}))

    record = tokens.record(REFERENCES)

    assert record[B] == AS_IS
    assert match(replace(tokens, versions={A: V1, B: V2}), podset(1, record)) is not None


def test_a_template_that_names_the_copies_is_the_revision_that_they_belong_to() -> None:
    record = {A: name(A, V1), B: name(B, V1)}
    old = podset(1, record)
    undone = rewritten(TEMPLATE, copies_in(record))

    (candidate,) = find_candidates(undone, [old, podset(2, {A: name(A, V2), B: ABSENT})])

    assert candidate.podset is old


def test_another_template_is_no_candidate() -> None:
    other = {**TEMPLATE, "spec": {"containers": []}}

    assert find_candidates(other, [podset(1, {})]) == ()
    assert find_candidates(TEMPLATE, [replace(podset(1, {}), is_deleting=True)]) == ()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"x":1}', '{"Pod/a":"b"}', '{"ConfigMap/a":1}'])
def test_a_record_that_somebody_wrote_reads_as_nothing_known(text: str) -> None:
    assert record_of(replace(podset(1, {}), annotations={names.CONFIG: text})) == {}


def test_names_say_nothing_of_the_data_and_are_made_from_the_version() -> None:
    assert name(A, V1) == name(A, V1)
    assert len({name(A, V1), name(A, V2), copy_name(Uid("other"), A, V1)}) == 3
    assert name(B, V1).startswith("b-")
    assert len(copy_name(UID, Source("Secret", "x" * 253), V1)) == 253


def test_the_order_of_a_record_does_not_matter_for_its_id() -> None:
    assert id_of({A: "x", B: "y"}) == id_of({B: "y", A: "x"})
    assert id_of({A: "x"}) != id_of({A: "y"})
    assert id_of({}) == ""

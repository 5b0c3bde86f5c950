"""Pods that are parsed once."""

from kube_runtime.resource import Json, Key
from workloads.podset.parsed_pods import ParsedPods

WEB = Key("ns", "web")


def raw_pod(name: str, phase: str = "Pending") -> Json:
    return {"metadata": {"name": name, "uid": name}, "status": {"phase": phase}}


def test_a_pod_that_has_not_changed_is_not_parsed_again() -> None:
    parsed, raw = ParsedPods(), [raw_pod("a"), raw_pod("b")]

    first, second = parsed.parse(WEB, raw), parsed.parse(WEB, raw)

    assert [left is right for left, right in zip(first, second, strict=True)] == [True, True]


def test_a_pod_that_has_changed_is() -> None:
    parsed = ParsedPods()
    parsed.parse(WEB, [raw_pod("a")])

    (pod,) = parsed.parse(WEB, [raw_pod("a", "Running")])

    assert pod.phase == "Running"


def test_pods_that_went_and_podsets_that_went_are_forgotten() -> None:
    parsed, raw = ParsedPods(), raw_pod("a")
    (first,) = parsed.parse(WEB, [raw])

    parsed.parse(WEB, [])
    (second,) = parsed.parse(WEB, [raw])
    parsed.forget(WEB)
    (third,) = parsed.parse(WEB, [raw])

    assert first is not second
    assert second is not third

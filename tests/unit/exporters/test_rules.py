"""The rules against the catalogue: an alert on a metric that does not exist would never fire."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporters.catalogue import CATALOGUE

MONITORING = Path(__file__).parents[3] / "deploy" / "monitoring"
NAMES = re.compile(
    r"\b(?:levelset|controller_runtime|workqueue|rest_client|leader_election)_[a-z0-9_]+\b"
)
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"]
    for rule in group["rules"]
]
ALERTS = [rule for rule in RULES if "alert" in rule]


def _name(rule: dict[str, Any]) -> str:
    return str(rule.get("alert") or rule["record"])


@pytest.mark.parametrize("rule", RULES, ids=_name)
def test_a_rule_uses_only_metrics_of_the_catalogue(rule: dict[str, Any]) -> None:
    recorded = {other["record"] for other in RULES if "record" in other}
    expression = rule["expr"]
    for record in recorded:
        expression = expression.replace(record, "")

    families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in NAMES.findall(expression)}

    assert families <= set(CATALOGUE)


@pytest.mark.parametrize("rule", ALERTS, ids=_name)
def test_an_alert_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["alert"].startswith("Levelset")
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert rule["annotations"]["summary"].endswith(".")
    assert rule["annotations"]["description"].endswith(".")


def test_every_alert_has_a_test() -> None:
    tests = yaml.safe_load((MONITORING / "rules_test.yaml").read_text())["tests"]

    fired = {
        case["alertname"]
        for test in tests
        for case in test.get("alert_rule_test", ())
        if case.get("exp_alerts")
    }

    assert fired == {rule["alert"] for rule in ALERTS}

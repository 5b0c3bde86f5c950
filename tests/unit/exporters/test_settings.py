"""How the settings of the endpoint go together."""

from pathlib import Path
from typing import Any

import pytest

from exporters.errors import ExportersError
from exporters.settings import MetricsSettings


@pytest.mark.parametrize(
    "fields",
    [
        {"metrics_cert_file": Path("c"), "metrics_key_file": Path("k")},
        {"metrics_self_signed": True},
        {"insecure_metrics": True},
    ],
)
def test_one_way_of_serving_is_accepted(fields: dict[str, Any]) -> None:
    MetricsSettings(**fields).check()


def test_no_way_of_serving_is_refused_and_the_ways_are_named() -> None:
    with pytest.raises(ExportersError, match="--metrics-self-signed or --insecure-metrics"):
        MetricsSettings().check()


@pytest.mark.parametrize(
    "fields",
    [
        {"metrics_cert_file": Path("c")},
        {"metrics_key_file": Path("k")},
        {"metrics_self_signed": True, "insecure_metrics": True},
        {"metrics_port": 65536},
        {"metrics_port": -1},
    ],
)
def test_contradictions_are_refused_at_once(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"--metrics|/metrics"):
        MetricsSettings(**fields)

"""Fails a CI run in which a node test was skipped although root is there.

Registered as a plugin by tests/conftest.py; CI is recognised by CI or LEVELSET_REQUIRE_NODE.
"""

import os
from typing import Any

import pytest

_skipped: list[tuple[str, str]] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember every node test that was skipped, with its reason."""
    if report.skipped and "node" in report.keywords and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skipped.append((report.nodeid, reason))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Turn success into failure."""
    if _is_failure() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say why the run fails, with every skipped test and its reason."""
    if _is_failure():
        terminalreporter.section("node tests were skipped although root is there", red=True)
        for node_id, reason in _skipped:
            terminalreporter.write_line(f"{node_id}: {reason}")


def _is_failure() -> bool:
    is_required = bool(os.environ.get("CI") or os.environ.get("LEVELSET_REQUIRE_NODE"))
    return bool(_skipped) and is_required and os.geteuid() == 0

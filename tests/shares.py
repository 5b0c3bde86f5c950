"""Shares the tests out among the processes of one run: whole files, and all node tests to one.

Registered as a plugin by tests/conftest.py. Node tests look at what the machine has before and
after a cluster, so no two of them may run at once; what a file starts once, it starts in one
process.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer  # type: ignore[import-untyped] # has no py.typed
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped] # the same

_NODE = "tests/node/"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest share first, so that the run does not end with waiting for it."""
    items.sort(key=lambda item: not item.nodeid.startswith(_NODE))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(
    config: pytest.Config, log: "Producer"
) -> "LoadScopeScheduling | None":
    """Take the place of `--dist loadgroup`, whose marks do not reach its scheduler in pytest 9.2."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - only there with several processes

    class Shares(LoadScopeScheduling):  # type: ignore[misc] # an untyped base
        def _split_scope(self, nodeid: str) -> str:
            return _NODE if nodeid.startswith(_NODE) else nodeid.partition("::")[0]

    return Shares(config, log)

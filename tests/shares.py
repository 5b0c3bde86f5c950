"""Shares the tests out among the processes of one run: whole files, and some folders to one process.

Registered as a plugin by tests/conftest.py. Node tests look at what the machine has before and
after a cluster, so no two of them may run at once; the supply chain's tests begin with a private
Sigstore that takes 20 s to make. What a file starts once, it starts in one process.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer  # type: ignore[import-untyped] # has no py.typed
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped] # the same

_TOGETHER = ("tests/node/", "tests/contract/supply_chain/")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest shares first, so that the run does not end with waiting for one."""
    items.sort(key=lambda item: not item.nodeid.startswith(_TOGETHER))


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
            folder = next((each for each in _TOGETHER if nodeid.startswith(each)), None)
            return folder or nodeid.partition("::")[0]

    return Shares(config, log)

"""One lab for all tests of this folder."""

from collections.abc import Iterator

import pytest

from local_cluster import ports
from tests.contract.supply_chain import harness


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[harness.Lab]:
    guard_port, *spare = ports.free_ports(8)
    with harness.running_lab(tmp_path_factory.mktemp("supply-chain"), spare, guard_port) as running:
        yield running

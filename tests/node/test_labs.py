"""The pages of docs/labs, command by command as they stand, on three real nodes.

The image that the pages name is the tests' own busybox under that name; the controllers that the
pages have running in a second terminal run in this process, but for lab 04, which starts its own.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from local_cluster import images
from local_cluster.kubectl import Kubectl
from tests.contract.workloads.world import World, running_controllers
from tests.node import lab_pages
from tests.node_fixtures import NodeCluster, userland

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("needs_real_nodes")]

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
IMAGE = "docker.io/library/busybox:1.37"
PAGES = (
    "01-what-is-deleted-comes-back.md",
    "02-two-writers.md",
    "03-requests-during-a-rollout.md",
    "05-a-node-is-drained.md",
)
STARTS_ITS_OWN = "04-while-nobody-looks.md"


@pytest.fixture(scope="module")
def lab_cluster(node_cluster: NodeCluster, tmp_path_factory: pytest.TempPathFactory) -> NodeCluster:
    """The nodes, with our kinds and the image of the pages."""
    archive = tmp_path_factory.mktemp("labs") / "busybox.tar"
    archive.write_bytes(images.docker_archive(userland(), IMAGE))
    node_cluster.load_image(archive)
    node_cluster.kubectl("apply", "--server-side", "-f", CRDS)
    node_cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS)
    return node_cluster


@pytest.fixture
def lab(lab_cluster: NodeCluster, node_namespace: str, tmp_path: Path) -> Iterator[Path]:
    """A kubeconfig whose namespace is this test's; every node takes pods again afterwards."""
    kubeconfig = Path(shutil.copy(lab_cluster.kubeconfig, tmp_path / "kubeconfig"))
    kubectl = Kubectl(kubeconfig)
    kubectl("config", "set-context", "--current", f"--namespace={node_namespace}")
    yield kubeconfig
    kubectl("uncordon", *(node.name for node in lab_cluster.cluster.nodes))


@pytest.fixture
async def controllers(lab: Path, node_namespace: str) -> AsyncIterator[World]:
    """Both controllers for this test's namespace."""
    client = await ApiClient.connect(kubeconfig=str(lab), user_agent="levelset-tests")
    async with client, running_controllers(client, node_namespace):
        yield World(client, node_namespace)


@pytest.mark.parametrize("page", PAGES)
async def test_the_page_tells_the_truth(page: str, lab: Path, controllers: World) -> None:
    assert await lab_pages.play(page, lab) >= 8


async def test_the_page_that_stops_the_controller_tells_the_truth(lab: Path) -> None:
    assert await lab_pages.play(STARTS_ITS_OWN, lab) >= 8


def test_every_page_is_played() -> None:
    pages = {path.name for path in lab_pages.LABS.glob("[0-9]*.md")}

    assert pages == {*PAGES, STARTS_ITS_OWN}
    assert all(len(lab_pages.steps(page)) >= 8 for page in pages)

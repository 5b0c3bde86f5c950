"""What the demo pushes is valid: kustomize renders it, and the API server takes it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from levelset.demo import application, workload
from levelset.demo.image import Images
from levelset.demo.repository import OVERLAY, with_image
from levelset.demo.stage import EXAMPLES, NAMESPACE
from local_cluster import tools

pytestmark = pytest.mark.contract

DIGEST = f"sha256:{'a' * 64}"
PUBLIC_KEY = "-----BEGIN PUBLIC KEY-----\nMFkwEwYH\n-----END PUBLIC KEY-----\n"
Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def rendered(tmp_path: Path) -> str:
    """The staging overlay with an image as the demo sets it."""
    subprocess.run(["cp", "-r", EXAMPLES, tmp_path / "demo"], check=True, timeout=20)
    kustomization = tmp_path / "demo" / OVERLAY / "kustomization.yaml"
    kustomization.write_text(with_image(kustomization.read_text(), "registry.test/web", DIGEST))
    done = subprocess.run(
        [tools.find("kustomize"), "build", tmp_path / "demo" / OVERLAY],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_the_overlay_sets_replicas_and_image(rendered: str) -> None:
    objects = {o["kind"]: o for o in yaml.safe_load_all(rendered)}

    template = objects["Rollout"]["spec"]["template"]
    assert template["spec"]["containers"][0]["image"] == f"registry.test/web@{DIGEST}"
    assert objects["Rollout"]["spec"]["replicas"] == workload.REPLICAS
    assert {o["metadata"]["namespace"] for o in objects.values()} == {NAMESPACE}


def test_the_api_server_takes_all_of_it(rendered: str, kubectl: Kubectl, crds: None) -> None:
    images = Images("registry.test/demo/web", DIGEST, DIGEST, DIGEST, PUBLIC_KEY)
    objects = [
        application.policy(images),
        application.application("http://git.test/demo/web.git"),
        application.staging_namespace(),
    ]
    kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(objects[2:]))
    documents = f"{rendered}\n---\n{yaml.safe_dump_all(objects[:2])}"

    done = kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=documents)

    assert done.stdout.count("serverside-applied") == 5
    kubectl("delete", "namespace", NAMESPACE, "--wait=false")

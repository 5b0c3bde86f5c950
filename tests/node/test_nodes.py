import base64
import http.server
import json
import ssl
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from local_cluster import images, pki
from local_cluster.errors import ClusterError
from local_cluster.provider import BadPlan, ClusterPlan
from local_cluster.services.registry import Registry
from tests.node_fixtures import NodeCluster, userland

pytestmark = pytest.mark.node


def test_three_nodes_are_ready_and_have_addresses_of_their_own(node_cluster: NodeCluster) -> None:
    nodes = node_cluster.cluster.nodes

    assert len({node.address for node in nodes}) == 3
    assert all(node.is_ready and node.address.startswith("198.1") for node in nodes)


def test_every_pod_answers_through_the_service_from_every_pod(
    node_cluster: NodeCluster, node_namespace: str
) -> None:
    pods = node_cluster.run_pods(node_namespace, "web", 6)

    placed = _nodes_of(node_cluster, node_namespace)
    assert len(placed) == 3
    for pod in pods[:3]:  # among them the pod itself and its neighbour on the same node
        assert _answering(node_cluster, node_namespace, pod, set(pods)) == set(pods)


def test_exec_and_logs_work(node_cluster: NodeCluster, node_namespace: str) -> None:
    (pod,) = node_cluster.run_pods(node_namespace, "web", 1)
    kubectl = node_cluster.kubectl

    assert kubectl("logs", "-n", node_namespace, pod).stdout == "serving\n"
    said = kubectl("exec", "-n", node_namespace, pod, "--", "hostname").stdout.strip()
    assert f"pod/{said}" == pod


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("kubernetes.default.svc.cluster.local", "10.96.0.1"),
        ("kube-dns.kube-system.svc.cluster.local", "10.96.0.10"),
        ("host.levelset.internal", None),
    ],
)
def test_pods_resolve_names(
    node_cluster: NodeCluster, node_namespace: str, name: str, address: str | None
) -> None:
    (pod,) = node_cluster.run_pods(node_namespace, "web", 1)

    answer = node_cluster.kubectl("exec", "-n", node_namespace, pod, "--", "nslookup", name)

    assert f"Address: {address or node_cluster.host_address}" in answer.stdout


def test_a_name_that_does_not_exist_is_not_resolved(
    node_cluster: NodeCluster, node_namespace: str
) -> None:
    (pod,) = node_cluster.run_pods(node_namespace, "web", 1)

    command = [
        "exec",
        "-n",
        node_namespace,
        pod,
        "--",
        "nslookup",
        "nobody.default.svc.cluster.local",
    ]
    answer = node_cluster.kubectl(*command, check=False)

    assert "NXDOMAIN" in answer.stdout + answer.stderr


def test_a_drained_node_has_no_pods_and_they_come_back_elsewhere(
    node_cluster: NodeCluster, node_namespace: str
) -> None:
    node_cluster.run_pods(node_namespace, "web", 3)
    drained = node_cluster.cluster.nodes[1].name
    kubectl = node_cluster.kubectl
    try:
        kubectl("drain", drained, "--ignore-daemonsets", "--timeout=60s", timeout_seconds=70)
        status = ["rollout", "status", "deployment/web", "-n", node_namespace, "--timeout=60s"]
        kubectl(*status, timeout_seconds=70)

        assert drained not in _nodes_of(node_cluster, node_namespace)
    finally:
        kubectl("uncordon", drained)


def test_an_oci_layout_folder_is_loaded_onto_every_node(
    node_cluster: NodeCluster, node_namespace: str, tmp_path: Path
) -> None:
    image = "levelset.test/from-layout:1"
    _write_layout(userland(), image, tmp_path / "layout")

    node_cluster.load_image(tmp_path / "layout")

    for number, node in enumerate(node_cluster.cluster.nodes):
        override = {"spec": {"nodeName": node.name, "restartPolicy": "Never"}}
        run = ["run", f"hello-{number}", "-n", node_namespace, f"--image={image}"]
        options = [f"--overrides={json.dumps(override)}", "--image-pull-policy=Never", "--command"]
        node_cluster.kubectl(*run, *options, "--", "/bin/echo", "hello")
        done = "--for=jsonpath={.status.phase}=Succeeded"
        pod = [f"pod/hello-{number}", "-n", node_namespace]
        node_cluster.kubectl("wait", done, *pod, "--timeout=20s")


def test_a_file_that_is_no_image_is_refused(node_cluster: NodeCluster, tmp_path: Path) -> None:
    other = tmp_path / "other.tar"
    with tarfile.open(other, "w") as tar:
        tar.add(__file__, arcname="test.py")

    with pytest.raises(ClusterError, match=r"other\.tar: expected a docker archive"):
        node_cluster.load_image(other)


async def test_nodes_pull_from_a_plain_http_registry_on_this_machine(
    node_cluster: NodeCluster, node_namespace: str, tmp_path: Path
) -> None:
    async with Registry.start(tmp_path, host=node_cluster.host_address) as registry:
        node_cluster.allow_http_registry(registry.address)
        digest = await images.push(registry.url, "team/userland", userland(), "1")
        image = f"{registry.address}/team/userland@{digest}"

        options = [f"--image={image}", "--restart=Never", "--command"]
        node_cluster.kubectl(
            "run", "pulled", "-n", node_namespace, *options, "--", "/bin/echo", "hello"
        )
        done = "--for=jsonpath={.status.phase}=Succeeded"
        node_cluster.kubectl("wait", done, "pod/pulled", "-n", node_namespace, "--timeout=25s")

    # Kubernetes 1.37 would pull a loaded image again, in vain, once its content was pulled
    # under another name on that node.
    assert len(node_cluster.run_pods(node_namespace, "loaded", 3)) == 3


def test_a_pull_that_must_fail_fails_at_once(
    node_cluster: NodeCluster, node_namespace: str
) -> None:
    kubectl = node_cluster.kubectl
    kubectl("run", "lost", "-n", node_namespace, "--image=nobody.test/nothing:1")

    reason = "{.status.containerStatuses[0].state.waiting.reason}"
    failed = f"--for=jsonpath={reason}=ErrImagePull"
    kubectl("wait", failed, "pod/lost", "-n", node_namespace, "--timeout=9s")


def test_the_api_server_reaches_a_webhook_on_this_machine(
    node_cluster: NodeCluster, node_namespace: str, tmp_path: Path
) -> None:
    authority = pki.Authority.create(tmp_path, "webhook")
    serving = authority.issue("serving", common_name="webhook", hosts=[node_cluster.host_address])
    with _refusing_webhook(node_cluster.host_address, serving) as url:
        webhook = _webhook(url, authority.certificate, node_namespace)
        node_cluster.kubectl("apply", "-f", "-", stdin=json.dumps(webhook))
        try:
            create = ["create", "configmap", "any", "-n", node_namespace]
            answer = node_cluster.kubectl(*create, check=False)
        finally:
            name = webhook["metadata"]["name"]
            node_cluster.kubectl("delete", "validatingwebhookconfiguration", name)

    assert "not today" in answer.stderr


def test_a_pod_reaches_a_server_on_this_machine(
    node_cluster: NodeCluster, node_namespace: str, tmp_path: Path
) -> None:
    (pod,) = node_cluster.run_pods(node_namespace, "web", 1)
    server = http.server.ThreadingHTTPServer((node_cluster.host_address, 0), _Hello)
    with _serving(server) as port:
        ask = ["wget", "-q", "-O", "-", f"http://host.levelset.internal:{port}/"]
        answer = node_cluster.kubectl("exec", "-n", node_namespace, pod, "--", *ask)

    assert answer.stdout == "hello"


def test_up_leaves_a_cluster_alone_that_is_as_wanted(node_cluster: NodeCluster) -> None:
    said: list[str] = []
    plan = ClusterPlan(name=node_cluster.cluster.name, nodes=3)

    again = node_cluster.provider.up(plan, said.append)

    assert again.server == node_cluster.cluster.server
    assert said == [f"cluster {plan.name} is up already"]


def test_up_does_not_change_a_cluster_under_its_user(node_cluster: NodeCluster) -> None:
    plan = ClusterPlan(name=node_cluster.cluster.name, nodes=2)

    with pytest.raises(
        BadPlan, match=r"is up with 3 nodes and 0 simulated ones: `levelset cluster"
    ):
        node_cluster.provider.up(plan, lambda _: None)


def _answering(node_cluster: NodeCluster, namespace: str, pod: str, expected: set[str]) -> set[str]:
    """Ask the Service from a pod until all have answered; kube-proxy needs a moment after Ready."""
    ask = "for i in $(busybox seq 40); do wget -q -O - http://web || exit 1; done"
    answered: set[str] = set()
    deadline = time.monotonic() + 20
    while not answered >= expected and time.monotonic() < deadline:
        done = node_cluster.kubectl("exec", "-n", namespace, pod, "--", "sh", "-c", ask)
        answered |= {f"pod/{line}" for line in done.stdout.split()}
    return answered


def _nodes_of(node_cluster: NodeCluster, namespace: str) -> set[str]:
    get = ["get", "pods", "-n", namespace, "--field-selector=status.phase=Running"]
    return set(
        node_cluster.kubectl(*get, "-o", "jsonpath={.items[*].spec.nodeName}").stdout.split()
    )


def _write_layout(image: images.Image, name: str, folder: Path) -> None:
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    for blob in (image.manifest, image.config, *image.layers):
        (blobs / blob.digest.removeprefix("sha256:")).write_bytes(blob.content)
    annotations = {"io.containerd.image.name": name}
    index = {
        "schemaVersion": 2,
        "manifests": [{**image.manifest.descriptor(), "annotations": annotations}],
    }
    (folder / "index.json").write_text(json.dumps(index))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')


class _Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *args: object) -> None:
        pass


class _Refuse(_Hello):
    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = {
            "uid": review["request"]["uid"],
            "allowed": False,
            "status": {"message": "not today"},
        }
        body = json.dumps(
            {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def _serving(server: http.server.ThreadingHTTPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)


@contextmanager
def _refusing_webhook(host: str, serving: pki.Certificate) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer((host, 0), _Refuse)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(serving.certificate, serving.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with _serving(server) as port:
        yield f"https://{host}:{port}/"


def _webhook(url: str, authority: Path, namespace: str) -> dict[str, Any]:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    bundle = base64.b64encode(authority.read_bytes()).decode()
    hook = {
        "name": "refuse.levelset.dev",
        "clientConfig": {"url": url, "caBundle": bundle},
        "rules": [rule],
        "namespaceSelector": selector,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": f"refuse-{namespace}"},
        "webhooks": [hook],
    }

"""A cluster whose admission is ours: its own control plane, the process as it ships, a registry.

It is separate from the control plane that the other tests share, since a webhook that fails closed
would sit in the way of every pod that they make.
"""

import asyncio
import contextlib
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import yaml

from local_cluster import images
from local_cluster.control_plane import ALWAYS_ON_CONTROLLERS, ControlPlane
from local_cluster.kubectl import Kubectl
from local_cluster.services.registry import Registry
from local_cluster.services.signing import Cosign

ROOT = Path(__file__).resolve().parents[3]
DEPLOY = ROOT / "deploy"
INSTALLED = (
    DEPLOY / "crds",
    DEPLOY / "chart" / "rbac" / "supply-chain.yaml",
    DEPLOY / "webhooks" / "supply-chain.yaml",
)
Json = dict[str, Any]


def wait_for(what: str, is_so: Callable[[], Any], *, seconds: float = 20.0) -> Any:
    """Return the first true answer; fails with `what` when the time is over."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if answer := is_so():
            return answer
        time.sleep(0.1)
    raise AssertionError(f"not within {seconds:g} s: {what}")


@dataclass
class Guard:
    """`python -m supply_chain`, under its own account, as a process of its own."""

    kubeconfig: Path
    log: Path
    port: int
    metrics_port: int
    insecure: Sequence[str]
    flags: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "supply_chain"]
        command += ["--kubeconfig", str(self.kubeconfig), "--webhook-url", self.url]
        command += ["--admission-host", "127.0.0.1", "--admission-port", str(self.port)]
        command += ["--metrics-host", "127.0.0.1", "--metrics-port", str(self.metrics_port)]
        command += ["--insecure-metrics", "--insecure-registries", ",".join(self.insecure)]
        command += [
            "--deny-cache-seconds",
            "2",
            "--lease-seconds",
            "3",
            "--renew-seconds",
            "2",
            "--retry-seconds",
            "0.5",
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self.flags], cwd=ROOT, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    def kill(self) -> None:
        """As the kernel would, without a word."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(30)


@dataclass
class Lab:
    """What a test needs to make images, sign them, and see whether they may run."""

    plane: ControlPlane
    kubectl: Kubectl
    registry: Registry
    cosign: Cosign
    guard: Guard
    spare_ports: Sequence[int]
    _namespaces: list[str] = field(default_factory=list)

    def namespace(self, **labels: str) -> str:
        name = f"test-{secrets.token_hex(4)}"
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": labels},
            }
        )
        self.kubectl("create", "serviceaccount", "default", "-n", name, check=False)
        self._namespaces.append(name)
        return name

    def push(self, repository: str | None = None, tag: str = "1") -> "Pushed":
        """Push an image that nobody else has."""
        repository = repository or f"test/{secrets.token_hex(6)}"
        content = secrets.token_bytes(16)
        image = images.build_image(
            [[images.File("/web", content, mode=0o755)]], entrypoint=["/web"]
        )
        digest = asyncio.run(images.push(self.registry.url, repository, image, tag))
        return Pushed(self.registry.address, repository, tag, digest)

    def sign(self, image: "Pushed", by: Cosign | None = None) -> None:
        asyncio.run((by or self.cosign).sign(image.by_digest))

    def apply(self, *objects: Json) -> None:
        self.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def refused(self, *objects: Json, verb: str = "create") -> str:
        """Try to create; returns what kubectl says of the refusal, "" if there was none."""
        text = yaml.safe_dump_all(objects)
        done = self.kubectl(verb, "-f", "-", stdin=text, check=False)
        return done.stderr if done.returncode else ""

    def get(self, kind: str, name: str, namespace: str = "") -> Json:
        scope = ["-n", namespace] if namespace else []
        found: Json = orjson.loads(self.kubectl("get", kind, name, *scope, "-o", "json").stdout)
        return found

    def policy(self, glob: str, *authorities: Json, namespace: str = "") -> str:
        """Apply a policy and wait until the process has taken it up."""
        name = f"test-{secrets.token_hex(4)}"
        kind = "ImagePolicy" if namespace else "ClusterImagePolicy"
        metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
        spec = {"images": [{"glob": glob}], "authorities": list(authorities)}
        self.apply(
            {
                "apiVersion": "levelset.dev/v1alpha1",
                "kind": kind,
                "metadata": metadata,
                "spec": spec,
            }
        )
        wait_for(
            f"{kind} {name} observed",
            lambda: self.get(kind.lower(), name, namespace)["status"]["observedGeneration"] == 1,
        )
        return name

    def key_authority(self, by: Cosign | None = None) -> Json:
        pem = (by or self.cosign).public_key.read_text()
        return {"name": "release", "key": {"data": pem}, "transparencyLog": "Ignored"}


@dataclass(frozen=True)
class Pushed:
    """An image in a registry."""

    host: str
    repository: str
    tag: str
    digest: str

    @property
    def name(self) -> str:
        return f"{self.host}/{self.repository}"

    @property
    def by_tag(self) -> str:
        return f"{self.name}:{self.tag}"

    @property
    def by_digest(self) -> str:
        return f"{self.name}@{self.digest}"

    def at(self, host: str) -> "Pushed":
        return Pushed(host, self.repository, self.tag, self.digest)


def pod(namespace: str, *image: str, name: str = "", **spec: Any) -> Json:
    containers = [{"name": f"c{n}", "image": each} for n, each in enumerate(image)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name or f"pod-{secrets.token_hex(4)}", "namespace": namespace},
        "spec": {"containers": containers, **spec},
    }


def deployment(namespace: str, image: str, *, name: str = "web", replicas: int = 1) -> Json:
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "c0", "image": image}]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }


@contextlib.contextmanager
def running_lab(directory: Path, spare_ports: Sequence[int], guard_port: int) -> Iterator[Lab]:
    """Start everything; the guard is up and the webhooks reach it."""
    plane = ControlPlane.start(directory / "control-plane")
    registry = None
    guard = None
    try:
        plane.start_controllers(ALWAYS_ON_CONTROLLERS)
        registry = asyncio.run(Registry.launch(directory / "registry"))
        cosign = asyncio.run(Cosign.create(directory / "cosign"))
        kubectl = Kubectl(plane.kubeconfig)
        kubectl("create", "namespace", "levelset-system")
        for path in INSTALLED:
            kubectl("apply", "--server-side", "-f", path)
        guard = Guard(
            kubeconfig=plane.user(
                "system:serviceaccount:levelset-system:levelset-supply-chain",
                ["system:serviceaccounts", "system:serviceaccounts:levelset-system"],
            ),
            log=directory / "guard.log",
            port=guard_port,
            metrics_port=spare_ports[-1],
            insecure=[registry.address, *(f"127.0.0.1:{port}" for port in spare_ports[:-1])],
            flags=["--certificate-tick-seconds", "0.5", "--announce-seconds", "1"],
        )
        guard.start()
        lab = Lab(plane, kubectl, registry, cosign, guard, spare_ports[:-1])
        _await_admission(lab)
        yield lab
    finally:
        if guard is not None and guard.process is not None and guard.process.poll() is None:
            guard.stop()
        if registry is not None:
            asyncio.run(registry.stop())
        plane.stop()


def _await_admission(lab: Lab) -> None:
    namespace = lab.namespace()

    def admits() -> bool:
        alive = lab.guard.process is not None and lab.guard.process.poll() is None
        assert alive, lab.guard.log.read_text()[-3000:]
        return not lab.refused(pod(namespace, "registry.example.test/unmatched:1"))

    try:
        wait_for("the webhooks answer", admits, seconds=40)
    except AssertionError:
        raise AssertionError(lab.guard.log.read_text()[-3000:]) from None

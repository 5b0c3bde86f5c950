"""A real etcd and kube-apiserver, with its own authority, and on request the two controllers' homes.

Called by the contract tests (on loopback, without root, ports chosen) and by the embedded cluster
(inside a node's network namespace). It neither makes nodes nor knows of them.
Everything it writes is below its state folder; `stop` ends exactly what `start` started.
"""

import http.client
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local_cluster import kubeconfig, pki, ports, process, tools
from local_cluster.errors import ProgramFailed

READY_SECONDS = 90.0  # 2 s on an idle machine; a compile beside it makes it slow, not wrong
_START_ATTEMPTS = 3  # a chosen port may be taken between choosing and listening
_LOOPBACK = "127.0.0.1"
_DOCUMENTATION_ADDRESS = "192.0.2.1"
SERVICE_RANGE = "10.96.0.0/16"
_FIRST_SERVICE = "10.96.0.1"
ALWAYS_ON_CONTROLLERS = (
    "namespace-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
)


@dataclass(frozen=True, slots=True)
class Network:
    """Where a control plane listens, and how programs get there."""

    address: str = _LOOPBACK
    """What the certificate names and clients connect to."""
    prefix: tuple[str, ...] = ()
    """A command that starts a program in the right network namespace."""
    port: int | None = None
    """The API's port; chosen if None."""


@dataclass(slots=True)
class ControlPlane:
    """A running control plane; made by `start`, ended by `stop`."""

    directory: Path
    network: Network
    authority: pki.Authority
    server: str = ""
    kubeconfig: Path = Path()
    dies_with_parent: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    on_start: Callable[[process.Program], None] = lambda _: None
    _programs: list[process.Program] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        directory: Path,
        *,
        network: Network | None = None,
        api_flags: Sequence[str] = (),
        dies_with_parent: bool = True,
        environment: Mapping[str, str] | None = None,
        on_start: Callable[[process.Program], None] = lambda _: None,
    ) -> "ControlPlane":
        """Start etcd and the API server and wait until it is ready.

        `on_start` hears of every program as soon as it runs. Raises ProgramFailed or MissingTool.
        """
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        network = network or Network()
        authority = pki.Authority.create(directory / "pki", "levelset")
        plane = cls(
            directory,
            network,
            authority,
            dies_with_parent=dies_with_parent,
            environment=environment or {},
            on_start=on_start,
        )
        plane._start_with_free_ports(api_flags)
        return plane

    def stop(self) -> None:
        """End what was started; at once, since nothing of a throwaway cluster is kept."""
        process.kill([each.identity for each in self._programs])
        self._programs.clear()

    def user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """Write a kubeconfig for a user with a client certificate of our authority."""
        file = name.rpartition(":")[2]
        certificate = self.authority.issue(f"user-{file}", common_name=name, groups=groups)
        return kubeconfig.write(
            self.directory / f"{file}.kubeconfig",
            server=self.server,
            authority=self.authority.certificate,
            user=certificate,
        )

    def start_controllers(
        self, controllers: Sequence[str] = ("*",), *, flags: Sequence[str] = ()
    ) -> process.Program:
        """Start kube-controller-manager with the named controllers."""
        pki_directory = self.authority.directory
        (port,) = ports.free_ports(1)
        return self.run(
            "kube-controller-manager",
            f"--kubeconfig={self.user('system:kube-controller-manager')}",
            f"--controllers={','.join(controllers)}",
            f"--service-account-private-key-file={pki_directory / 'tokens.key'}",
            f"--root-ca-file={self.authority.certificate}",
            f"--cluster-signing-cert-file={self.authority.certificate}",
            f"--cluster-signing-key-file={pki_directory / 'ca.key'}",
            "--use-service-account-credentials=true",  # without it RBAC refuses its controllers
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            *flags,
        )

    def start_scheduler(self, *, flags: Sequence[str] = ()) -> process.Program:
        """Start kube-scheduler."""
        (port,) = ports.free_ports(1)
        return self.run(
            "kube-scheduler",
            f"--kubeconfig={self.user('system:kube-scheduler')}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            *flags,
        )

    def run(self, name: str, *arguments: str) -> process.Program:
        """Start one more program beside the others; it ends with them."""
        number = sum(each.name.startswith(name) for each in self._programs)
        label = f"{name}-{number + 1}" if number else name
        program = process.Program.start(
            label,
            [tools.find(name), *arguments],
            log=self.directory / f"{label}.log",
            prefix=self.network.prefix,
            environment=self.environment,
            dies_with_parent=self.dies_with_parent,
        )
        self._programs.append(program)
        self.on_start(program)
        return program

    def _start_with_free_ports(self, api_flags: Sequence[str]) -> None:
        for attempt in range(1, _START_ATTEMPTS + 1):
            try:
                return self._start(api_flags)
            except ProgramFailed as error:
                self.stop()
                if "address already in use" not in str(error) or attempt == _START_ATTEMPTS:
                    raise
        return None

    def _start(self, api_flags: Sequence[str]) -> None:
        client_port, peer_port = ports.free_ports(2)
        port = self.network.port or ports.free_ports(1)[0]
        self.server = f"https://{self.network.address}:{port}"
        etcd = self._start_etcd(client_port, peer_port)
        pki.write_signing_key(self.authority.directory, "tokens")
        self.kubeconfig = self.user("levelset:admin", groups=["system:masters"])
        api = self._start_api(port, client_port, api_flags)
        ready = self._readiness(port)
        api.wait_ready(
            lambda: self._etcd_lives(etcd) and ready(),
            timeout_seconds=READY_SECONDS,
        )

    def _etcd_lives(self, etcd: process.Program) -> bool:
        etcd.check()
        return True

    def _start_etcd(self, client_port: int, peer_port: int) -> process.Program:
        pair = self.authority.issue("etcd", common_name="etcd", hosts=["127.0.0.1", "localhost"])
        client, peer = f"https://127.0.0.1:{client_port}", f"https://127.0.0.1:{peer_port}"
        ca = self.authority.certificate
        return self.run(
            "etcd",
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--cert-file={pair.certificate}",
            f"--key-file={pair.key}",
            f"--trusted-ca-file={ca}",
            "--client-cert-auth",
            f"--peer-cert-file={pair.certificate}",
            f"--peer-key-file={pair.key}",
            f"--peer-trusted-ca-file={ca}",
            "--peer-client-cert-auth",
            "--unsafe-no-fsync",  # a throwaway cluster survives a crash by being made again
            "--log-level=error",
        )

    def _start_api(self, port: int, etcd_port: int, extra_flags: Sequence[str]) -> process.Program:
        address, ca = self.network.address, self.authority.certificate
        names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        hosts = dict.fromkeys(["127.0.0.1", address, _FIRST_SERVICE, *names])
        serving = self.authority.issue("api", common_name="kube-apiserver", hosts=list(hosts))
        etcd = self.authority.issue("api-etcd", common_name="kube-apiserver")
        kubelets = self.authority.issue(
            "api-kubelet", common_name="kube-apiserver", groups=["system:masters"]
        )
        tokens = self.authority.directory / "tokens"
        return self.run(
            "kube-apiserver",
            f"--etcd-servers=https://127.0.0.1:{etcd_port}",
            f"--etcd-cafile={ca}",
            f"--etcd-certfile={etcd.certificate}",
            f"--etcd-keyfile={etcd.key}",
            f"--secure-port={port}",
            *self._addresses(),
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={ca}",
            f"--service-account-key-file={tokens}.pub",
            f"--service-account-signing-key-file={tokens}.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            # A node's name resolves nowhere; exec and logs need an address.
            "--kubelet-preferred-address-types=InternalIP",
            f"--kubelet-certificate-authority={ca}",
            f"--kubelet-client-certificate={kubelets.certificate}",
            f"--kubelet-client-key={kubelets.key}",
            *extra_flags,
        )

    def _addresses(self) -> tuple[str, ...]:
        if self.network.address != _LOOPBACK:
            return "--bind-address=0.0.0.0", f"--advertise-address={self.network.address}"
        # Loopback may not be advertised, and without pods nobody asks for the endpoint.
        advertised = f"--advertise-address={_DOCUMENTATION_ADDRESS}"
        return f"--bind-address={_LOOPBACK}", advertised, "--endpoint-reconciler-type=none"

    def _readiness(self, port: int) -> Callable[[], bool]:
        context = ssl.create_default_context(cafile=str(self.authority.certificate))
        admin = self.authority.directory / "user-admin"
        context.load_cert_chain(f"{admin}.crt", f"{admin}.key")
        return lambda: _answers_ok(self.network.address, port, "/readyz", context)


def _answers_ok(address: str, port: int, path: str, context: ssl.SSLContext) -> bool:
    connection = http.client.HTTPSConnection(address, port, timeout=2, context=context)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()

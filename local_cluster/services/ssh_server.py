"""A real sshd on loopback that serves git repositories, for tests of git over SSH.

It has host keys, a client key and a known_hosts file of its own, lets in nobody but the user that started it, and
runs nothing but git's own commands. Works with and without root; never touches /etc/ssh or ~/.ssh.
"""

import asyncio
import getpass
import os
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

from local_cluster import ports, process
from local_cluster.errors import ClusterError
from local_cluster.services import running

_READY_TIMEOUT_SECONDS = 15.0
_KEYGEN_TIMEOUT_SECONDS = 15.0
# Compiled into sshd, which refuses to start as root without it.
_PRIVILEGE_SEPARATION = Path("/run/sshd")


class SshServerError(ClusterError):
    """The keys of sshd could not be made."""

    reason = "SshServer"


@dataclass(frozen=True, slots=True)
class SshServer:
    """A running sshd, and what a client needs to use it."""

    url: str
    identity_file: Path
    known_hosts_file: Path
    repositories: Path
    program: process.Program
    made_privilege_separation: bool

    @classmethod
    def start(
        cls, state_dir: Path, *, repositories: Path
    ) -> "AbstractAsyncContextManager[SshServer]":
        """Serve the bare repositories below `repositories` until the block is left."""
        return running.until_left(cls.launch(state_dir, repositories=repositories))

    @classmethod
    async def launch(cls, state_dir: Path, *, repositories: Path) -> "SshServer":
        """Start sshd and return when it answers; the caller stops it."""
        executable = running.find_program("sshd", package="openssh-server")
        state_dir = running.prepare_folder(state_dir)
        port = ports.free_ports(1)[0]
        for name in ("host_key", "client_key"):
            if not (key := state_dir / name).exists():
                await _make_key(key)
        config = state_dir / "sshd_config"
        config.write_text(_config(state_dir, port))
        _authorize(state_dir)
        made = _make_privilege_separation_folder()
        program = process.Program.start(
            "sshd",
            [executable, "-D", "-e", "-f", config],
            log=state_dir / "sshd.log",
            dies_with_parent=True,
        )
        server = cls(
            url=f"ssh://{getpass.getuser()}@127.0.0.1:{port}",
            identity_file=state_dir / "client_key",
            known_hosts_file=_write_known_hosts(state_dir, port),
            repositories=running.prepare_folder(repositories),
            program=program,
            made_privilege_separation=made,
        )
        try:
            await running.come_up(
                program, lambda: _greets(port), timeout_seconds=_READY_TIMEOUT_SECONDS
            )
        except BaseException:
            await server.stop()
            raise
        return server

    def url_of(self, repository: str) -> str:
        """Return the clone URL of `team/app`."""
        return f"{self.url}{self.repositories}/{repository}.git"

    @property
    def ssh_command(self) -> str:
        """What belongs into GIT_SSH_COMMAND: our key and our known_hosts, and nobody else's."""
        options = (
            "-F none",
            f"-i {self.identity_file}",
            "-o IdentitiesOnly=yes",
            f"-o UserKnownHostsFile={self.known_hosts_file}",
            "-o GlobalKnownHostsFile=/dev/null",
            "-o StrictHostKeyChecking=yes",
            "-o BatchMode=yes",
        )
        return " ".join(("ssh", *options))

    async def stop(self) -> None:
        """End sshd by its pid and take away the folder it needed, if it was ours."""
        await running.end(self.program)
        if self.made_privilege_separation:
            _remove_privilege_separation_folder()


def _config(state_dir: Path, port: int) -> str:
    return f"""ListenAddress 127.0.0.1
Port {port}
HostKey {state_dir}/host_key
AuthorizedKeysFile {state_dir}/authorized_keys
PidFile none
AllowUsers {getpass.getuser()}
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
# The state folder may be below a directory that others can write, such as /tmp.
StrictModes no
AllowTcpForwarding no
AllowAgentForwarding no
X11Forwarding no
PrintMotd no
LogLevel VERBOSE
"""


def _authorize(state_dir: Path) -> None:
    """Let the client key in, for git's commands only."""
    public_key = (state_dir / "client_key.pub").read_text()
    command = 'command="git-shell -c \\"$SSH_ORIGINAL_COMMAND\\"",restrict'
    authorized = state_dir / "authorized_keys"
    authorized.write_text(f"{command} {public_key}")
    authorized.chmod(0o600)


def _write_known_hosts(state_dir: Path, port: int) -> Path:
    kind, key, *_ = (state_dir / "host_key.pub").read_text().split()
    known_hosts = state_dir / "known_hosts"
    known_hosts.write_text(f"[127.0.0.1]:{port} {kind} {key}\n")
    return known_hosts


def _make_privilege_separation_folder() -> bool:
    if os.geteuid() != 0 or _PRIVILEGE_SEPARATION.exists():
        return False
    _PRIVILEGE_SEPARATION.mkdir(mode=0o755)
    return True


def _remove_privilege_separation_folder() -> None:
    with suppress(OSError):  # another sshd may have come to use it
        _PRIVILEGE_SEPARATION.rmdir()


async def _make_key(path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        "ssh-keygen",
        *("-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(_KEYGEN_TIMEOUT_SECONDS):
        output, _ = await process.communicate()
    if process.returncode:
        raise SshServerError(f"ssh-keygen failed: {output.decode(errors='replace').strip()}")


async def _greets(port: int) -> bool:
    """Tell whether the port sends an SSH banner."""
    try:
        async with asyncio.timeout(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                return (await reader.readline()).startswith(b"SSH-2.0")
            finally:
                writer.close()
                await writer.wait_closed()
    except (OSError, TimeoutError):
        return False

"""git over the network, hardened: a clean environment, no prompts, no hooks, no helpers, bounded time.

Credentials travel in the environment and in files that only we can read, never in an argument list.
Redirects are not followed, so that nothing is ever shown to a server that the Secret does not name.
"""

import asyncio
import base64
import os
import re
import resource
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitops_agent import processes
from gitops_agent.errors import AuthenticationFailed, GitFailed, HostKeyRejected, InvalidSpec
from gitops_agent.source.credentials import Credentials
from gitops_agent.source.urls import RepositoryUrl

_STDERR_SHOWN: Final = 400
_HTTP: Final = ("http", "https")
_REFUSED: Final = re.compile(
    r"Authentication failed|could not read Username|terminal prompts disabled|Permission denied \("
    r"|returned error: 40[13]|HTTP 40[13]|Load key .*: (?:error|invalid)"
)
_HOST_KEY: Final = re.compile(r"Host key verification failed|No \w+ host key is known")
_MOVED: Final = re.compile(r"unable to update url base from redirection|returned error: 30[1278]")


@dataclass(frozen=True, slots=True)
class GitLimits:
    """Bounds of one git command over the network."""

    timeout_seconds: float = 60.0
    output_bytes: int = 32 * 1024 * 1024
    pack_bytes: int = 2 * 1024 * 1024 * 1024


async def run_git(
    arguments: Sequence[str],
    *,
    url: RepositoryUrl,
    credentials: Credentials,
    limits: GitLimits,
    cwd: Path | None = None,
) -> bytes:
    """Run one git command that talks to the repository's server; raises GitFailed and its kinds."""
    bounds = processes.ProcessLimits(
        timeout_seconds=limits.timeout_seconds,
        output_bytes=limits.output_bytes,
        resources={resource.RLIMIT_FSIZE: limits.pack_bytes, resource.RLIMIT_CORE: 0},
    )
    with _private_directory() as private:
        env = await asyncio.to_thread(_environment, url, credentials, private)
        try:
            done = await processes.run(
                ["git", *arguments], cwd=cwd or private, env=env, limits=bounds
            )
        except TimeoutError as error:
            message = f"{url}: git {arguments[0]} took longer than {limits.timeout_seconds:g} s"
            raise GitFailed(message) from error
        except OSError as error:
            raise GitFailed(f"git cannot be started: {error.strerror}; install git") from error
    if done.code != 0:
        raise _failure(arguments[0], url, credentials, done.stderr)
    return done.stdout


def _failure(command: str, url: RepositoryUrl, credentials: Credentials, stderr: str) -> GitFailed:
    said = " ".join(credentials.scrub(stderr).split())[-_STDERR_SHOWN:]
    if _HOST_KEY.search(stderr):
        return HostKeyRejected(
            f"{url}: the server's host key is not the one in the Secret's knownHosts; "
            "compare it with the server's before you change the Secret"
        )
    if _REFUSED.search(stderr):
        shown = "the Secret's credentials" if credentials.identity else "no credentials"
        return AuthenticationFailed(
            f"{url}: the server refused {shown}; expected a Secret labelled "
            "levelset.dev/secret-type=repository whose url covers this one in the Application's "
            f"namespace ({said})"
        )
    if _MOVED.search(stderr):
        return GitFailed(f"{url}: redirects are not followed; write the repository's new URL")
    return GitFailed(f"{url}: git {command} failed: {said or 'no reason given'}")


@contextmanager
def _private_directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="levelset-git-") as name:
        yield Path(name)


def _environment(url: RepositoryUrl, credentials: Credentials, private: Path) -> dict[str, str]:
    config = {
        "core.hooksPath": "/dev/null",
        "credential.helper": "",
        "fetch.recurseSubmodules": "false",
        "gc.auto": "0",
        "maintenance.auto": "false",
        "http.followRedirects": "false",
        "http.lowSpeedLimit": "1",
        "http.lowSpeedTime": "20",
        "protocol.version": "2",
    }
    extra: dict[str, str] = {}
    if url.scheme in _HTTP:
        config |= _http_config(url, credentials, private)
    else:
        extra["GIT_SSH_COMMAND"] = _ssh_command(url, credentials, private)
        extra["GIT_SSH_VARIANT"] = "ssh"
    return _base_environment(private) | extra | _as_environment(config)


def _base_environment(private: Path) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(private),
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ALLOW_PROTOCOL": "http:https:ssh",
        "GIT_LFS_SKIP_SMUDGE": "1",
    }


def _as_environment(config: Mapping[str, str]) -> dict[str, str]:
    env = {"GIT_CONFIG_COUNT": str(len(config))}
    for index, (key, value) in enumerate(config.items()):
        env |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return env


def _http_config(url: RepositoryUrl, credentials: Credentials, private: Path) -> dict[str, str]:
    config = {"http.sslVerify": "true"}
    if credentials.ca:
        config["http.sslCAInfo"] = str(_write(private / "ca.crt", credentials.ca))
    if credentials.password:
        pair = f"{credentials.username or 'git'}:{credentials.password}"
        token = base64.b64encode(pair.encode()).decode()
        # Bound to this server by the key, so that git sends it nowhere else.
        key = f"http.{url.scheme}://{url.location}/.extraHeader"
        config[key] = f"Authorization: Basic {token}"
    return config


def _ssh_command(url: RepositoryUrl, credentials: Credentials, private: Path) -> str:
    if not credentials.ssh_private_key:
        raise InvalidSpec(
            f"{url}: SSH needs a Secret with sshPrivateKey and knownHosts, labelled "
            "levelset.dev/secret-type=repository, in the Application's namespace"
        )
    key = _write(private / "id", credentials.ssh_private_key.rstrip() + "\n")
    hosts = _write(private / "known_hosts", credentials.known_hosts.rstrip() + "\n")
    options = {
        "IdentityFile": str(key),
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": str(hosts),
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "BatchMode": "yes",
        "PasswordAuthentication": "no",
        "ConnectTimeout": "10",
        "ServerAliveInterval": "10",
        "ServerAliveCountMax": "2",
    }
    flags = [f"-o{name}={value}" for name, value in options.items()]
    return shlex.join(["ssh", "-F", "/dev/null", *flags])


def _write(path: Path, text: str) -> Path:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return path

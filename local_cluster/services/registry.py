"""An OCI image registry on this machine: Debian's docker-registry on the file system of the state folder.

It has no referrers API, so signatures are found through the fallback tag, as on many registries in production.
Without TLS it is for loopback and the cluster's own bridge; with `tls` or `password` it asks for what it was given.
"""

import ctypes
import secrets
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from local_cluster import ports, process
from local_cluster.errors import ClusterError
from local_cluster.services import running

_READY_TIMEOUT_SECONDS = 20.0
_BCRYPT_ALPHABET = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_BCRYPT_COST = 5  # a token of 192 random bits needs no slow hash


class RegistryError(ClusterError):
    """The registry cannot be started here."""

    reason = "Registry"


@dataclass(frozen=True, slots=True)
class Registry:
    """A running registry; `user` and `password` are None when anybody may push."""

    url: str
    address: str
    user: str | None
    password: str | None = field(repr=False)
    tls: running.TlsFiles | None
    program: process.Program

    @classmethod
    def start(
        cls, state_dir: Path, *, host: str = "127.0.0.1", tls: bool = False, auth: bool = False
    ) -> "AbstractAsyncContextManager[Registry]":
        """Run the registry until the block is left."""
        return running.until_left(cls.launch(state_dir, host=host, tls=tls, auth=auth))

    @classmethod
    async def launch(
        cls,
        state_dir: Path,
        *,
        host: str = "127.0.0.1",
        tls: bool = False,
        auth: bool = False,
        dies_with_parent: bool = True,
    ) -> "Registry":
        """Start the registry and return when it answers; the caller stops it."""
        executable = running.find_program("docker-registry", package="docker-registry")
        state_dir = running.prepare_folder(state_dir)
        files = running.issue_server_certificate(state_dir / "tls", host) if tls else None
        user, password = ("levelset", secrets.token_urlsafe(24)) if auth else (None, None)
        address = f"{host}:{ports.free_ports(1, host)[0]}"
        settings = _settings(state_dir, address, files)
        if user and password:
            settings["auth"] = _basic_auth(state_dir, user, password)
        config = state_dir / "registry.yaml"
        config.write_text(yaml.safe_dump(settings))
        program = process.Program.start(
            "registry",
            [executable, "serve", config],
            log=state_dir / "registry.log",
            dies_with_parent=dies_with_parent,
        )
        registry = cls(
            url=f"{'https' if tls else 'http'}://{address}",
            address=address,
            user=user,
            password=password,
            tls=files,
            program=program,
        )
        await running.come_up(program, registry._answers, timeout_seconds=_READY_TIMEOUT_SECONDS)
        return registry

    async def stop(self) -> None:
        """End the registry; its images stay in the state folder."""
        await running.end(self.program)

    async def _answers(self) -> bool:
        ca = self.tls.ca if self.tls else None
        return await running.answers(f"{self.url}/v2/", 401 if self.user else 200, ca=ca)


def _settings(state_dir: Path, address: str, files: running.TlsFiles | None) -> dict[str, Any]:
    http: dict[str, Any] = {"addr": address, "secret": secrets.token_hex(16)}
    if files:
        http["tls"] = {"certificate": str(files.certificate), "key": str(files.key)}
    return {
        "version": 0.1,
        "log": {"level": "info", "accesslog": {"disabled": False}},
        "storage": {
            "filesystem": {"rootdirectory": str(state_dir / "blobs")},
            "delete": {"enabled": True},
        },
        "http": http,
    }


def _basic_auth(state_dir: Path, user: str, password: str) -> dict[str, Any]:
    path = state_dir / "htpasswd"
    running.write_secret(path, f"{user}:{_bcrypt(password)}\n")
    return {"htpasswd": {"realm": "levelset", "path": str(path)}}


def _bcrypt(password: str) -> str:
    """Hash with the C library's crypt, since the standard library has none and htpasswd needs bcrypt."""
    crypt = ctypes.CDLL("libcrypt.so.1").crypt
    crypt.argtypes, crypt.restype = [ctypes.c_char_p, ctypes.c_char_p], ctypes.c_char_p
    salt = "".join(secrets.choice(_BCRYPT_ALPHABET) for _ in range(21)) + "."
    hashed: bytes | None = crypt(password.encode(), f"$2b${_BCRYPT_COST:02}${salt}".encode())
    if not hashed or not hashed.startswith(b"$2b$"):
        raise RegistryError("libcrypt.so.1 cannot make bcrypt hashes; expected libxcrypt")
    return hashed.decode()

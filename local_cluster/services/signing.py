"""Signs image digests with a key by cosign, without any service of Sigstore's.

cosign v3 writes its own bundle (v0.3, a DSSE envelope of an in-toto statement) and stores it by the OCI referrers
API or, where a registry has none, under the fallback tag. There is no transparency log here: a demo's key
pair is proof enough, and nothing leaves the machine. The password is in a 0600 file and in cosign's environment only.
"""

import asyncio
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local_cluster import tools
from local_cluster.errors import ClusterError
from local_cluster.services import running

_TIMEOUT_SECONDS = 60.0
_SIGNING_CONFIG_TYPE = "application/vnd.dev.sigstore.signingconfig.v0.2+json"
_TRUSTED_ROOT_TYPE = "application/vnd.dev.sigstore.trustedroot+json;version=0.1"


class SigningError(ClusterError):
    """cosign refused; the message has its last line."""

    reason = "Signing"


@dataclass(frozen=True, slots=True)
class Cosign:
    """One key pair, and the program that uses it."""

    program: Path
    state_dir: Path

    @classmethod
    async def create(cls, state_dir: Path, *, program: Path | None = None) -> "Cosign":
        """Make a key pair in `state_dir`, or take up the one that is there."""
        cosign = cls(
            program=program or tools.find("cosign"), state_dir=running.prepare_folder(state_dir)
        )
        if not cosign.public_key.exists():
            await cosign._make_key_pair()
        return cosign

    @property
    def public_key(self) -> Path:
        """The PEM file that a policy names."""
        return self.state_dir / "cosign.pub"

    async def sign(self, image: str, *, registry_options: Sequence[str] = ()) -> None:
        """Sign REGISTRY/REPOSITORY@DIGEST and store the bundle beside it."""
        if "@sha256:" not in image:
            raise SigningError(f"{image}: expected a digest (…@sha256:…), since a tag can move")
        arguments = ("--key", "cosign.key", "--signing-config", "signing-config.json", "--yes")
        await self._run("sign", *arguments, *registry_options, image)

    async def verify(
        self, image: str, *, key: Path | None = None, registry_options: Sequence[str] = ()
    ) -> None:
        """Verify as a person with the public key would; SigningError when it does not verify."""
        arguments = ("--key", str(key or self.public_key), "--insecure-ignore-tlog=true")
        root = ("--trusted-root", "trusted-root.json")
        await self._run("verify", *arguments, *root, *registry_options, image)

    async def _make_key_pair(self) -> None:
        running.write_secret(self._password_file, secrets.token_urlsafe(24))
        services = {"mediaType": _SIGNING_CONFIG_TYPE, "rekorTlogConfig": {}, "tsaConfig": {}}
        (self.state_dir / "signing-config.json").write_text(json.dumps(services))
        root = {"mediaType": _TRUSTED_ROOT_TYPE}
        (self.state_dir / "trusted-root.json").write_text(json.dumps(root))
        await self._run("generate-key-pair")

    @property
    def _password_file(self) -> Path:
        return self.state_dir / "cosign.password"

    async def _run(self, verb: str, *arguments: str) -> None:
        process = await asyncio.create_subprocess_exec(
            str(self.program),
            verb,
            *arguments,
            cwd=self.state_dir,
            env={
                "HOME": str(self.state_dir),  # no credentials or caches of the user's
                "PATH": "/usr/bin:/bin",
                "COSIGN_PASSWORD": self._password_file.read_text(),
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError as error:
            process.kill()
            raise SigningError(f"cosign {verb} took more than {_TIMEOUT_SECONDS:g} s") from error
        if process.returncode:
            last = output.decode(errors="replace").strip().splitlines()[-1:]
            raise SigningError(f"cosign {verb} failed: {' '.join(last)}")

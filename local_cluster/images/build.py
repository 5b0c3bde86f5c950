"""Container images without a container tool: built from files, pushed to a registry, or packed for `ctr import`.

Called by the embedded cluster (pause image), the demo (web image) and the tests. Building is pure and deterministic:
the same files give the same digest on every machine. Layers are plain tar, since gzip's output differs between
versions of zlib, and a registry on the same machine gains nothing from it.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True, slots=True)
class File:
    """A regular file of a layer, owned by root; `path` is absolute inside the image."""

    path: str
    content: bytes = field(repr=False)
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Symlink:
    """A symbolic link of a layer."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class Blob:
    """Content with its media type; a registry knows it by its digest."""

    media_type: str
    content: bytes = field(repr=False)

    @property
    def digest(self) -> str:
        """sha256:HEX of the content."""
        return f"sha256:{hashlib.sha256(self.content).hexdigest()}"

    def descriptor(self) -> dict[str, Any]:
        """Describe the blob as OCI manifests do."""
        return {"mediaType": self.media_type, "digest": self.digest, "size": len(self.content)}


@dataclass(frozen=True, slots=True)
class Image:
    """A manifest and what it refers to."""

    manifest: Blob
    config: Blob
    layers: tuple[Blob, ...]

    @property
    def digest(self) -> str:
        """The digest that identifies the image everywhere."""
        return self.manifest.digest


def build_image(
    layers: Sequence[Sequence[File | Symlink]],
    *,
    entrypoint: Sequence[str],
    environment: Mapping[str, str] | None = None,
    user: str = "65532:65532",
    labels: Mapping[str, str] | None = None,
    architecture: str = "amd64",
) -> Image:
    """Build an image of the given layers, lowest first; it runs as nobody unless `user` says otherwise."""
    blobs = tuple(Blob(LAYER_TYPE, _tar(layer)) for layer in layers)
    config = _json_blob(
        CONFIG_TYPE,
        {
            "architecture": architecture,
            "os": "linux",
            "config": {
                "User": user,
                "Env": [f"{name}={value}" for name, value in (environment or {}).items()],
                "Entrypoint": list(entrypoint),
                "Labels": dict(labels or {}),
            },
            "rootfs": {"type": "layers", "diff_ids": [blob.digest for blob in blobs]},
            "history": [{"created_by": "levelset"} for _ in blobs],
        },
    )
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": config.descriptor(),
        "layers": [blob.descriptor() for blob in blobs],
    }
    return Image(manifest=_json_blob(MANIFEST_TYPE, manifest), config=config, layers=blobs)


def docker_archive(image: Image, name: str) -> bytes:
    """Pack the image as `docker save` does, for `ctr images import`; `name` is REPOSITORY:TAG."""
    config_name = f"{image.config.digest.removeprefix('sha256:')}.json"
    layers = {f"{b.digest.removeprefix('sha256:')}.tar": b.content for b in image.layers}
    index = [{"Config": config_name, "RepoTags": [name], "Layers": list(layers)}]
    members = {
        config_name: image.config.content,
        **layers,
        "manifest.json": json.dumps(index).encode(),
    }
    return _tar([File(path, content) for path, content in members.items()])


def _json_blob(media_type: str, value: Mapping[str, Any]) -> Blob:
    return Blob(media_type, json.dumps(value, separators=(",", ":")).encode())


def _tar(entries: Sequence[File | Symlink]) -> bytes:
    """Write a tar without times, names of owners or anything else that varies."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for folder in _folders(entries):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(info)
        for entry in entries:
            _add(archive, entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, entry: File | Symlink) -> None:
    info = tarfile.TarInfo(entry.path.lstrip("/"))
    if isinstance(entry, Symlink):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, entry.target, 0o777
        archive.addfile(info)
    else:
        info.size, info.mode = len(entry.content), entry.mode
        archive.addfile(info, io.BytesIO(entry.content))


def _folders(entries: Sequence[File | Symlink]) -> list[str]:
    """Name the folders above the entries, each before what it holds."""
    found: set[str] = set()
    for entry in entries:
        parts = entry.path.strip("/").split("/")[:-1]
        found.update("/".join(parts[: depth + 1]) for depth in range(len(parts)))
    return sorted(found)

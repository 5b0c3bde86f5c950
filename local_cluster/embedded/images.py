"""The pause image, and what `load-image` accepts."""

import platform
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_cluster import images, tools
from local_cluster.embedded.containerd import PAUSE_IMAGE
from local_cluster.errors import ClusterError

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def pause(archive: Path) -> Path:
    """Write the image that holds every pod's namespaces."""
    program = images.File("/pause", tools.find("pause").read_bytes(), mode=0o755)
    image = images.build_image([[program]], entrypoint=["/pause"], architecture=architecture())
    archive.write_bytes(images.docker_archive(image, PAUSE_IMAGE))
    return archive


def architecture() -> str:
    """Name this machine's architecture as images do."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


@contextmanager
def as_archive(image: Path) -> Iterator[Path]:
    """Turn an OCI layout folder into an archive; an archive is taken as it is."""
    if image.is_dir():
        _expect(image, is_image=(image / "oci-layout").is_file())
        with tempfile.TemporaryDirectory() as directory:
            archive = Path(directory, "image.tar")
            with tarfile.open(archive, "w") as tar:
                tar.add(image, arcname=".")
            yield archive
    else:
        _expect(image, is_image=_is_image_archive(image))
        yield image


def _expect(image: Path, *, is_image: bool) -> None:
    if not is_image:
        raise ClusterError(
            f"{image}: expected a docker archive, an OCI archive or a folder with oci-layout"
        )


def _is_image_archive(path: Path) -> bool:
    try:
        with tarfile.open(path) as tar:
            names = {name.removeprefix("./") for name in tar.getnames()}
    except FileNotFoundError:
        raise ClusterError(f"{path}: no such file; expected an image archive") from None
    except (OSError, tarfile.TarError):
        return False
    return bool(names & {"manifest.json", "oci-layout"})

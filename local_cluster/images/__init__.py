"""Container images without a container tool: `build_image` of files, `push` to a registry, `docker_archive` for ctr."""

from local_cluster.images.build import (
    Blob,
    File,
    Image,
    Symlink,
    build_image,
    docker_archive,
)
from local_cluster.images.upload import PushError, push

__all__ = ["Blob", "File", "Image", "PushError", "Symlink", "build_image", "docker_archive", "push"]

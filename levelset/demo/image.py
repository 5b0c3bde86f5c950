"""Step: three versions of a small web image, built here, pushed, and two of them signed."""

from dataclasses import dataclass

from levelset.demo.narrator import Step
from levelset.demo.services import Services
from levelset.demo.stage import Stage
from local_cluster import images, tools
from local_cluster.services.signing import Cosign

REPOSITORY = "demo/web"


@dataclass(frozen=True, slots=True)
class Images:
    """What was pushed: `name` without tag, and a digest for each version."""

    name: str
    first: str
    second: str
    unsigned: str
    public_key: str

    @property
    def versions(self) -> dict[str, str]:
        """What people call each digest."""
        return {self.first: "v1", self.second: "v2", self.unsigned: "v3"}

    def reference(self, digest: str) -> str:
        """Return the full reference of a digest."""
        return f"{self.name}@{digest}"


def web_image(version: str, program: bytes) -> images.Image:
    """Build one version: the program in the first layer, its version in the second."""
    layers: list[list[images.File | images.Symlink]] = [
        [images.File("/web", program, mode=0o755)],
        [images.File("/version", f"{version}\n".encode())],
    ]
    labels = {"org.opencontainers.image.version": version}
    return images.build_image(layers, entrypoint=["/web"], labels=labels)


async def publish(stage: Stage, services: Services, step: Step) -> Images:
    """Build, push and sign."""
    program = tools.find("web").read_bytes()
    registry = services.registry
    cosign = await Cosign.create(stage.folder("cosign"))
    digests = {}
    for version in ("v1", "v2", "v3"):
        image = web_image(version, program)
        digests[version] = await images.push(registry.url, REPOSITORY, image, version)
    found = Images(
        name=f"{registry.address}/{REPOSITORY}",
        first=digests["v1"],
        second=digests["v2"],
        unsigned=digests["v3"],
        public_key=cosign.public_key.read_text(),
    )
    for digest in (found.first, found.second):
        reference = found.reference(digest)
        await cosign.sign(reference, registry_options=_OVER_HTTP)
        await cosign.verify(reference, registry_options=_OVER_HTTP)
        step.fact(f"{found.versions[digest]} signed", reference)
    step.fact("v3 not signed", found.reference(found.unsigned))
    step.summary = "2 digests signed and verified with cosign, 1 left unsigned"
    return found


# The registry of the demo is on the cluster's own bridge, without TLS.
_OVER_HTTP = ("--allow-http-registry",)

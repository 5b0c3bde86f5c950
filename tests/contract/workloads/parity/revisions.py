"""The sizes of a Rollout's revisions by their images: v1=3 is the one with image web:1."""

from tests.contract.workloads.world import World, image_of


async def sizes(world: World) -> dict[str, int]:
    """Read how many pods each revision wants."""
    return {
        image_of(podset).replace("web:", "v"): podset["spec"]["replicas"]
        for podset in await world.podsets()
    }


async def has_sizes(world: World, **wanted: int) -> None:
    """Wait until the revisions have these sizes."""

    async def check() -> None:
        assert await sizes(world) == wanted

    await world.eventually(check)

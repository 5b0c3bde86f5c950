"""`levelset app diff`: the agent's own comparison, run here with the user's rights.

The same code observes, renders and compares, so the printed diff is what OutOfSync means. It reads the
repository Secret of the Application's namespace and the objects themselves; it writes nothing.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gitops_agent.diff.compare import ObjectDiff, compare
from gitops_agent.diff.differ import Differ
from gitops_agent.diff.schemas import Schemas
from gitops_agent.live import LiveObjects
from gitops_agent.names import APPLICATIONS
from gitops_agent.objects import Redactor
from gitops_agent.observer import Observer
from gitops_agent.render.kustomize import Kustomize, KustomizeLimits
from gitops_agent.render.renderer import Renderer
from gitops_agent.resources import Application
from gitops_agent.source.sources import SourceLimits, Sources
from gitops_agent.sync.prune import plan_prune
from gitops_agent.world import World
from kube_runtime.api import ApiClient
from kube_runtime.errors import Forbidden
from kube_runtime.resource import Json, uid_of
from levelset.app.errors import AppError
from local_cluster import tools


class _Silent:
    """Observes nothing."""

    def git_requested(self, request: str, result: str, seconds: float) -> None:
        """Ignore it."""

    def rendered(self, tool: str, *, cached: bool) -> None:
        """Ignore it."""


async def differences(
    api: ApiClient, raw: Json, *, revision: str | None, kustomize: str | None
) -> list[ObjectDiff]:
    """Return every object's difference that is not empty, the ones to prune at the end."""
    with tempfile.TemporaryDirectory(prefix="levelset-diff-") as folder:
        try:
            world = await _look(api, raw, Path(folder), revision=revision, kustomize=kustomize)
        except Forbidden as error:
            raise AppError(
                f"app diff compares with your own rights and was refused: {error.message}; "
                "it reads the repository Secret and every object of the Application, and dry-runs "
                "applies"
            ) from error
    found = [world.diffs[target.id] for target in world.targets]
    return [diff for diff in (*sorted(found, key=lambda diff: diff.id), *_extra(world)) if diff]


def _extra(world: World) -> Iterator[ObjectDiff]:
    for object_id in plan_prune(world.prune_question()).extraneous:
        yield compare(object_id, world.live.get(object_id), None)


async def _look(
    api: ApiClient, raw: Json, folder: Path, *, revision: str | None, kustomize: str | None
) -> World:
    application, redactor, silent = Application.of(raw), Redactor(), _Silent()
    living = await _living(api, application)
    sources = Sources(folder, limits=SourceLimits(), observer=silent)
    program = kustomize or shutil.which("kustomize") or str(tools.find("kustomize"))
    observer = Observer(
        api,
        sources=sources,
        renderer=Renderer(sources, Kustomize(program, KustomizeLimits()), silent),
        live=LiveObjects(api, redactor=redactor, on_change=lambda _: None),
        differ=Differ(api, Schemas(api), redactor),
        redactor=redactor,
        living=lambda: living,
        max_age_seconds=float("inf"),
    )
    spec = application.spec()
    target = revision or spec.source.target_revision
    commit, shown = await observer.resolve(application, spec, target)
    return await observer.look(application, spec, commit, shown)


async def _living(api: ApiClient, application: Application) -> set[str]:
    try:
        found = await api.list(APPLICATIONS)
    except Forbidden:  # who may not look into other namespaces still sees their own
        found = await api.list(APPLICATIONS, namespace=application.key.namespace)
    return {uid_of(obj) for obj in found.items}

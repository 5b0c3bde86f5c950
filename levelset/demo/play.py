"""The demo in order: what `levelset demo` does, step by step, and the teardown that comes whatever happens."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from rich.markup import escape

from kube_runtime.api import ApiClient
from levelset.demo import (
    application,
    bring_up,
    controllers,
    first_push,
    image,
    install,
    repair,
    report,
    rolling_update,
    services,
    unsigned,
)
from levelset.demo.errors import DemoFailedError
from levelset.demo.image import Images
from levelset.demo.narrator import Narrator
from levelset.demo.repository import Repository
from levelset.demo.services import Services
from levelset.demo.stage import CLUSTER, EXAMPLES, Options, Stage, locked, state_directory
from local_cluster import tools
from local_cluster.embedded import EmbeddedProvider
from local_cluster.kubectl import Kubectl
from local_cluster.provider import Cluster

_REPOSITORY = "demo/web"
_USER_AGENT = "levelset-demo"
_WATCH_SECONDS = 0.5


def run(options: Options) -> int:
    """Play the demo; 0 when every claim held, 1 when one did not or somebody ended it."""
    narrator = Narrator()
    try:
        with locked(state_directory()):
            asyncio.run(_guarded(options, narrator))
    except asyncio.CancelledError:  # SIGTERM; Ctrl-C is a KeyboardInterrupt
        return 1
    finally:
        if narrator.finished:
            narrator.console.print()
            narrator.console.print(narrator.closing_table())
    return 0


def take_down() -> int:
    """End what an earlier `--keep` has left."""
    narrator = Narrator()
    with locked(state_directory()), narrator.step("Teardown of an earlier demo") as step:
        asyncio.run(Stage.take(state_directory()).tear_down(step.note))
    return 0


async def _guarded(options: Options, narrator: Narrator) -> None:
    """Play, and tear down on success, failure, Ctrl-C and SIGTERM alike, unless all is to be kept."""
    playing = asyncio.current_task()
    assert playing is not None  # noqa: S101 - we are in a coroutine
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, playing.cancel)
    directory = state_directory()
    await _clear_leftovers(directory, narrator)
    stage = Stage.clear(directory, keep=options.keep)
    narrator.title("Levelset: one push to Git, all the way", f"logs and state: {directory}")
    try:
        cluster = await _watched(stage, _play(options, narrator, stage))
    except BaseException as error:
        _explain(narrator, stage, error)
        if not options.keep or _is_interruption(error):
            await _tear_down(narrator, stage)
        raise
    if options.keep:
        _print_next_commands(narrator, stage, cluster)
    else:
        await _tear_down(narrator, stage)


async def _watched(stage: Stage, play: Coroutine[Any, Any, Cluster]) -> Cluster:
    """Play, but fail at once when one of the programs ends that should run to the end."""
    playing = asyncio.create_task(play)
    watching = asyncio.create_task(_first_failure(stage))
    try:
        await asyncio.wait({playing, watching}, return_when=asyncio.FIRST_COMPLETED)
        if playing.done():
            return playing.result()
        raise DemoFailedError(f"{watching.result()} has ended, and nobody asked it to")
    finally:
        playing.cancel()
        watching.cancel()
        await asyncio.gather(playing, watching, return_exceptions=True)


async def _first_failure(stage: Stage) -> str:
    while True:
        if failed := stage.failed_programs():
            return failed[0].name
        await asyncio.sleep(_WATCH_SECONDS)


async def _play(options: Options, narrator: Narrator, stage: Stage) -> Cluster:
    with narrator.step("Programs that the demo needs", has_own_progress=True) as step:
        await install.install(options, step)
    with narrator.step(f"A Kubernetes cluster with {options.nodes} nodes") as step:
        cluster = await bring_up.bring_up(options, step)
    async with await ApiClient.connect(
        kubeconfig=str(cluster.kubeconfig), user_agent=_USER_AGENT
    ) as api:
        kubectl = Kubectl(cluster.kubeconfig)
        with narrator.step("A git server, an image registry, Prometheus") as step:
            around = await services.start(stage, cluster, step)
        with narrator.step("The four controllers") as step:
            await asyncio.to_thread(install.apply_manifests, kubectl, step)
            four = await controllers.start(stage, cluster, around, api, step)
            await around.prometheus.set_jobs(four.scrape_jobs())
        with narrator.step("Images: built, pushed, signed, and one unsigned") as step:
            images = await image.publish(stage, around, step)
        with narrator.step("The first push") as step:
            repository = await _prepare(stage, around, four, kubectl, images)
            service_url = await first_push.play(api, repository, images, step)
            await first_push.ask_the_service(stage, cluster, service_url, step)
        with narrator.step("A rolling update under load") as step:
            roll = rolling_update.Roll(stage, cluster, api, repository, images)
            rolled = await roll.play(service_url, step)
        with narrator.step("An unsigned image") as step:
            await unsigned.play(api, kubectl, repository, images, step)
        with narrator.step("Broken by hand, put right") as step:
            await repair.play(api, kubectl, images, step)
        with narrator.step("What Prometheus knows") as step:
            await report.play(around.prometheus, step)
            picture = options.picture or stage.directory / "demo-rollout.svg"
            await asyncio.to_thread(rolled.draw, picture)
            step.fact("picture of the rolling update", str(picture))
    return cluster


async def _prepare(
    stage: Stage,
    around: Services,
    four: controllers.Controllers,
    kubectl: Kubectl,
    images: Images,
) -> Repository:
    """Make the repository on the server, its webhook, and the objects that point the agent to it."""
    url = await around.git.create_repository(_REPOSITORY)
    around.git.set_webhook(four.push_url, secret=four.push_secret)
    for manifest in (
        application.policy(images),
        application.repository_secret(around.git, url),
        application.application(url),
    ):
        await asyncio.to_thread(install.apply, kubectl, [manifest])
    return await Repository.create(
        stage.directory / "repository",
        source=EXAMPLES,
        push_url=around.git.url_with_credentials(_REPOSITORY),
    )


async def _clear_leftovers(directory: Path, narrator: Narrator) -> None:
    earlier = Stage.take(directory)
    if earlier.is_running or EmbeddedProvider().status(CLUSTER).state != "absent":
        with narrator.step("Teardown of an earlier demo") as step:
            await earlier.tear_down(step.note)


async def _tear_down(narrator: Narrator, stage: Stage) -> None:
    with narrator.step("Teardown") as step:
        await stage.tear_down(step.note)
        step.summary = "everything that was started is gone"


def _explain(narrator: Narrator, stage: Stage, error: BaseException) -> None:
    """Say what a person needs after a failure, before everything goes."""
    if _is_interruption(error):
        narrator.console.print("\n[bold]Interrupted[/bold]; everything goes.")
        return
    for program in stage.failed_programs():
        said = f"{program.name} has ended; {program.log} ends with:\n{_tail(program.log)}"
        narrator.console.print(f"[red]{escape(said)}[/red]", highlight=False)
    if stage.keep:
        narrator.console.print("Left up as it is; `levelset demo --down` ends it.")
    elif isinstance(error, DemoFailedError):
        hint = "`levelset demo --keep` leaves everything up, to look at it"
        narrator.console.print(f"[dim]logs: {stage.directory}/logs; {hint}[/dim]")


def _is_interruption(error: BaseException) -> bool:
    return isinstance(error, asyncio.CancelledError | KeyboardInterrupt)


def _tail(log: Path, lines: int = 5) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def _print_next_commands(narrator: Narrator, stage: Stage, cluster: Cluster) -> None:
    commands = (
        f"export PATH={Path(sys.executable).parent}:{tools.find('kubectl').parent}:$PATH",
        f"export KUBECONFIG={cluster.kubeconfig}",
        "kubectl get rollouts,podsets,pods -n staging",
        "levelset app get web -n staging",
        f"cd {stage.directory}/repository && git log --stat  # edit, commit, git push origin main",
        "levelset demo --down",
    )
    narrator.console.print(f"\n[bold]Left up[/bold] (cluster {CLUSTER}). Try:")
    for command in commands:
        narrator.console.print(f"  {escape(command)}", highlight=False)

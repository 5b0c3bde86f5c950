"""Keeps the configuration of each revision: what the Rollout reconciler asks before it plans.

`resolve` says which template the Rollout has with its configuration as it is now; `tend` looks
after records and copies of revisions that are there; `prepare` makes the copies of one that is
about to be. Decisions are in matching.py and copies.py; here are reading and writing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.clock import Clock
from kube_runtime.errors import Conflict, Forbidden, Invalid, NotFound
from kube_runtime.resource import Json, Key, Resource, Uid, resource_version_of, uid_of
from kube_runtime.store import Store
from workloads import names, templates
from workloads.podset.resources import PodSet
from workloads.rollout.config.contents import ConfigRefusedError, Contents
from workloads.rollout.config.copies import RESOURCES, plan_upkeep
from workloads.rollout.config.matching import (
    Candidate,
    Match,
    Question,
    Sight,
    find_candidates,
    find_match,
    missing,
    questions,
)
from workloads.rollout.config.record import Record, Version, copies_in, copy_name, id_of, to_text
from workloads.rollout.config.references import (
    Reference,
    Source,
    SourceKind,
    references_of,
    rewritten,
)
from workloads.rollout.config.settling import Settling
from workloads.rollout.config.standing import Standing, standing_of
from workloads.rollout.config.watching import ConfigWatch
from workloads.rollout.policies import ConfigMode
from workloads.rollout.resources import Rollout

MAX_REFERENCES: Final = 64
"""More than that is no configuration any more; such a Rollout works as with mode Ignore."""
_SYNC_SECONDS: Final = 5.0  # for the first list; a cluster that is slower may be told of later
_LOOK_SECONDS: Final = 0.2
_REFUSED_SECONDS: Final = 60.0
_JUST_MADE_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Resolution:
    """A Rollout's template with its configuration."""

    template: Json = field(hash=False)
    """What a PodSet of it has, but for the hash label."""
    record: Record = field(default_factory=dict, hash=False)
    match: Match | None = None
    """The PodSet that already is this; None when it has yet to be made."""
    sight: Sight | None = None
    standing: Standing | None = None
    look_again_after: float | None = None
    is_early: bool = False
    """The sources are still being listed: nothing can be said yet."""

    def applied_to(self, rollout: Rollout) -> Rollout:
        """Return the Rollout as if its template had been written with the copies' names."""
        return replace(
            rollout,
            template=self.template,
            config_hash=id_of(self.record),
            config_record=to_text(self.record) if self.record else "",
        )

    @property
    def wanted(self) -> frozenset[Source]:
        """The copies that this template names, as objects."""
        return frozenset(
            Source(source.kind, name) for source, name in copies_in(self.record).items()
        )


@dataclass(frozen=True, slots=True)
class _Refusal:
    until: float
    message: str


class ConfigKeeper:
    """Looks after the configuration of all Rollouts of the process."""

    def __init__(
        self,
        api: ApiClient,
        watch: ConfigWatch,
        podsets: Store,
        clock: Clock,
        *,
        settle_seconds: float,
    ) -> None:
        self._api = api
        self._watch = watch
        self._podsets = podsets
        self._clock = clock
        self._contents = Contents(api, clock)
        self._settling = Settling(settle_seconds, clock)
        self._refusals: dict[Key, _Refusal] = {}
        self._made: dict[tuple[str, Source], float] = {}
        self._began: float | None = None

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a Rollout that is gone."""
        self._settling.forget(key)
        self._refusals.pop(key, None)

    async def resolve(self, rollout: Rollout, podsets: Iterable[PodSet]) -> Resolution:
        """Find the PodSet that is the Rollout as it is now, or say what a new one would have."""
        references = references_of(rollout.template)
        candidates = find_candidates(rollout.template, podsets)
        plain = _plain(rollout, candidates)
        if not references or rollout.config_mode is ConfigMode.IGNORE or rollout.is_deleting:
            return plain
        if len(references) > MAX_REFERENCES:
            return replace(plain, standing=Standing.too_many(len(references), MAX_REFERENCES))
        if self._is_early(references):
            return replace(plain, is_early=True, look_again_after=_LOOK_SECONDS)
        refusal = self._refusal(rollout.key)
        if refusal is not None:
            left = refusal.until - self._clock.monotonic()
            standing = Standing.refused(refusal.message)
            return replace(plain, standing=standing, look_again_after=left)
        try:
            resolution = await self._decide(rollout, references, candidates)
        except ConfigRefusedError as error:
            self._refuse(rollout.key, str(error))
            return replace(plain, standing=Standing.refused(str(error)))
        return replace(resolution, standing=self._standing(references, resolution))

    async def prepare(self, raw: Json, resolution: Resolution) -> None:
        """Make the copies that a new revision names; call it right before its PodSet is made.

        Raises ConfigMovedError when the resolution no longer holds.
        """
        if resolution.match is None:
            await self._make(raw, copies_in(resolution.record))

    async def tend(self, raw: Json, podsets: Iterable[Json], resolution: Resolution) -> Json | None:
        """Bring records, copies and their owners level; return the PodSet that was written.

        Raises ConfigMovedError and Conflict when something else was written meanwhile.
        """
        if resolution.is_early or raw["metadata"].get("deletionTimestamp") is not None:
            return None
        if resolution.match is not None and resolution.sight is not None:
            match = resolution.match
            await self._make(raw, self._lost(raw, match, resolution.sight))
            if match.take:
                await self._make(raw, copies_in(match.take))
                return await self._take(raw, match)
        await self._upkeep(raw, list(podsets), resolution)
        return None

    async def _decide(
        self, rollout: Rollout, references: tuple[Reference, ...], candidates: tuple[Candidate, ...]
    ) -> Resolution:
        sight = self._look(rollout, references)
        match = find_match(references, candidates, sight)
        if match is None and candidates:
            asked = questions(references, candidates, sight)
            sight = replace(sight, equal=await self._answer(rollout.key.namespace, asked, sight))
            match = find_match(references, candidates, sight)
        if match is not None:
            self._settling.forget(rollout.key)
            return _matched(match, sight)
        record = sight.record(references)
        if candidates:
            left = self._settling.seconds_left(rollout.key, to_text(record))
            if left > 0:
                waiting = _matched(Match(candidates[0]), sight)
                return replace(waiting, look_again_after=left)
        template = rewritten(rollout.template, copies_in(record))
        return Resolution(template, record, sight=sight)

    def _look(self, rollout: Rollout, references: tuple[Reference, ...]) -> Sight:
        namespace = rollout.key.namespace
        versions: dict[Source, Version | None] = {
            each.source: self._watch.version(namespace, each.source)
            for each in references
            if self._watch.is_readable(each.source.kind)
        }
        tokens = [
            source
            for source, version in versions.items()
            if version is not None and self._contents.is_token(version)
        ]
        own = self._watch.own_copies(namespace, references, rollout.uid)
        return Sight(rollout.uid, versions, as_is=frozenset([*tokens, *own]))

    async def _answer(
        self, namespace: str, asked: frozenset[Question], sight: Sight
    ) -> frozenset[Question]:
        """Read and compare; a copy that is gone equals nothing."""
        equal = set()
        for question in asked:
            version = sight.versions[question.source]
            copy = Source(question.source.kind, question.copy)
            copy_version = self._watch.version(namespace, copy)
            if version is None or copy_version is None:
                continue
            live = await self._contents.digest(namespace, question.source, version)
            if live is not None and live == await self._contents.digest(
                namespace, copy, copy_version
            ):
                equal.add(question)
        return frozenset(equal)

    def _lost(self, raw: Json, match: Match, sight: Sight) -> dict[Source, str]:
        """Find copies that somebody deleted, and that can be made again as they were."""
        namespace = raw["metadata"]["namespace"]
        return {
            source: name
            for source, name in copies_in(match.candidate.record).items()
            if (version := sight.versions.get(source)) is not None
            and copy_name(uid_of(raw), source, version) == name
            and self._watch.metadata(namespace, Source(source.kind, name)) is None
        }

    async def _make(self, raw: Json, copies: dict[Source, str]) -> None:
        namespace: str = raw["metadata"]["namespace"]
        now = self._clock.monotonic()
        self._made = {
            made: since for made, since in self._made.items() if now - since < _JUST_MADE_SECONDS
        }
        for source, name in copies.items():
            copy = (namespace, Source(source.kind, name))
            if copy in self._made or self._watch.metadata(*copy) is not None:
                continue
            try:
                await self._contents.copy(raw, source, name)
            except ConfigRefusedError as error:
                self._refuse(Key.of(raw), str(error))
                raise
            self._made[copy] = now

    async def _take(self, raw: Json, match: Match) -> Json | None:
        """Write into the PodSet what its record lacks; its running pods stay."""
        podset = match.candidate.podset
        patch = {
            "metadata": {
                "resourceVersion": podset.resource_version,
                "annotations": {names.CONFIG: to_text(match.record)},
            },
            "spec": {"template": rewritten(podset.template, copies_in(match.take))},
        }
        try:
            return await self._api.patch(
                names.PODSETS,
                podset.key.name,
                patch,
                namespace=podset.key.namespace,
                type=PatchType.MERGE,
                field_manager=names.FIELD_MANAGER,
            )
        except (Forbidden, Invalid) as error:
            self._refuse(Key.of(raw), f"cannot note the configuration of {podset.key.name}")
            raise ConfigRefusedError(f"PodSet {podset.key}: {error.reason}") from error

    async def _upkeep(self, raw: Json, podsets: list[Json], resolution: Resolution) -> None:
        copies = list(self._watch.copies_of(uid_of(raw)))
        if not copies:
            return
        upkeep = plan_upkeep(
            raw, podsets, copies, wanted=resolution.wanted, is_podset=self._is_podset(raw)
        )
        for copy, owners in upkeep.own:
            await self._give(copy, owners)
        for copy in upkeep.delete:
            await self._delete(copy)

    def _is_podset(self, raw: Json) -> "_PodSetFinder":
        return _PodSetFinder(self._podsets, raw["metadata"]["namespace"])

    async def _give(self, copy: Json, owners: list[Json]) -> None:
        path = "/metadata/ownerReferences"
        patch: list[Json] = [
            {"op": "test", "path": "/metadata/uid", "value": uid_of(copy)},
            {
                "op": "test",
                "path": "/metadata/resourceVersion",
                "value": resource_version_of(copy),
            },
            {"op": "add", "path": path, "value": owners},
        ]
        key = Key.of(copy)
        try:
            await self._api.patch(
                _resource(copy),
                key.name,
                patch,
                namespace=key.namespace,
                type=PatchType.JSON,
                field_manager=names.FIELD_MANAGER,
            )
        except (NotFound, Invalid, Conflict):
            return  # gone or changed: the informer brings what is there now, and wakes us

    async def _delete(self, copy: Json) -> None:
        key = Key.of(copy)
        try:
            await self._api.delete(
                _resource(copy),
                key.name,
                namespace=key.namespace,
                uid=uid_of(copy),
                resource_version=resource_version_of(copy),
            )
        except (NotFound, Conflict):
            return

    def _standing(
        self, references: tuple[Reference, ...], resolution: Resolution
    ) -> Standing | None:
        sight = resolution.sight
        if sight is None:
            return None
        kind: SourceKind | None = next(
            (each.source.kind for each in references if each.source not in sight.versions), None
        )
        if kind is not None:
            return Standing.unreadable(kind, self._watch.problem(kind))
        return standing_of(resolution.record, missing(references, resolution.record, sight))

    def _is_early(self, references: tuple[Reference, ...]) -> bool:
        """Tell whether a list that is still on its way is worth waiting for."""
        now = self._clock.monotonic()
        self._began = self._began if self._began is not None else now
        waits_for = any(
            not self._watch.is_readable(each.source.kind)
            and not self._watch.problem(each.source.kind)
            for each in references
        )
        return waits_for and now - self._began < _SYNC_SECONDS

    def _refuse(self, key: Key, message: str) -> None:
        self._refusals[key] = _Refusal(self._clock.monotonic() + _REFUSED_SECONDS, message)

    def _refusal(self, key: Key) -> _Refusal | None:
        refusal = self._refusals.get(key)
        if refusal is not None and refusal.until <= self._clock.monotonic():
            del self._refusals[key]
            return None
        return refusal


@dataclass(frozen=True, slots=True)
class _PodSetFinder:
    """Tells whether an owner reference leads to a PodSet that is there."""

    podsets: Store
    namespace: str

    def __call__(self, reference: Json) -> bool:
        if reference.get("kind") != names.PODSETS.kind:
            return False
        found = self.podsets.get(Key(self.namespace, reference.get("name", "")))
        return found is not None and uid_of(found) == Uid(reference.get("uid", ""))


def _plain(rollout: Rollout, candidates: tuple[Candidate, ...]) -> Resolution:
    """Go on with the newest revision of this template, whatever its configuration."""
    if candidates:
        return _matched(Match(candidates[0]), None)
    return Resolution(rollout.template)


def _matched(match: Match, sight: Sight | None) -> Resolution:
    stored = templates.without_hash(match.candidate.podset.template)
    return Resolution(stored, match.record, match=match, sight=sight)


def _resource(copy: Json) -> Resource:
    return next(each for each in RESOURCES.values() if each.kind == copy["kind"])

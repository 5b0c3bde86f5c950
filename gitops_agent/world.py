"""Everything that one reconcile looks at, in one frozen value; what is derived from it is pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from gitops_agent.diff.compare import ObjectDiff
from gitops_agent.diff.differ import Target
from gitops_agent.objects import ObjectId
from gitops_agent.resources import Application, InventoryEntry, Spec
from gitops_agent.source.credentials import Credentials
from gitops_agent.source.refs import Commit
from gitops_agent.sync.owners import Owner, owner_of
from gitops_agent.sync.prune import PruneQuestion
from kube_runtime.resource import Json, Resource


@dataclass(frozen=True, slots=True)
class World:
    """An Application, what Git declares for it and what the cluster has."""

    application: Application
    spec: Spec
    commit: Commit
    credentials: Credentials = field(repr=False)
    targets: tuple[Target, ...]
    live: Mapping[ObjectId, Json | None] = field(repr=False)
    """None: looked for and not there. What is missing could not be looked for."""
    resources: Mapping[ObjectId, Resource] = field(repr=False)
    diffs: Mapping[ObjectId, ObjectDiff] = field(repr=False)
    inventory: tuple[InventoryEntry, ...]
    living: Collection[str]
    """UIDs of all Applications that exist."""
    cluster_uid: str

    @property
    def different(self) -> list[Target]:
        """What a sync would apply."""
        return [target for target in self.targets if self.diffs[target.id]]

    @property
    def running(self) -> frozenset[ObjectId]:
        """What exists already."""
        return frozenset(object_id for object_id, live in self.live.items() if live is not None)

    def owner(self, object_id: ObjectId) -> Owner:
        """Whose an object is."""
        live = self.live.get(object_id)
        if live is None:
            return Owner.NOBODY
        return owner_of(live, self.application.uid, self.living)

    def attempt(self) -> str:
        """The same for each try to bring in the same commit in the same way."""
        options = f"{self.spec.namespace}{self.spec.creates_namespace:d}"
        return f"{self.commit[:12]}-{self.spec.source.digest()}-{options}"

    def prune_question(self, *, is_confirmed: bool = False) -> PruneQuestion:
        """Put the question of what is to be deleted."""
        known = self.application.cluster_uid
        return PruneQuestion(
            inventory=self.inventory,
            desired=frozenset(target.id for target in self.targets),
            live=self.live,
            application_uid=self.application.uid,
            living=self.living,
            is_same_cluster=known in ("", self.cluster_uid),
            allows_empty=self.spec.automated is not None and self.spec.automated.allow_empty,
            is_confirmed=is_confirmed,
        )


def with_targets(
    inventory: Sequence[InventoryEntry], targets: Sequence[Target]
) -> tuple[InventoryEntry, ...]:
    """Append what is about to be applied, before it is: a crash may come in between."""
    entries = {entry.id: entry for entry in inventory}
    for target in targets:
        version = target.manifest.body["apiVersion"].rpartition("/")[2]
        known = entries.get(target.id)
        entries[target.id] = InventoryEntry(target.id, version, known.uid if known else "")
    return tuple(entries[object_id] for object_id in sorted(entries))

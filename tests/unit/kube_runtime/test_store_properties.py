"""Under any sequence of changes, the indexes equal what a recomputation gives."""

from collections import defaultdict
from collections.abc import Hashable, Iterable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kube_runtime.api_answers import WatchEvent
from kube_runtime.informer_mirror import Mirror
from kube_runtime.instrumentation import NO_INSTRUMENTATION
from kube_runtime.resource import PODS, Json, Key, uid_of
from kube_runtime.store import Store, by_label, by_node, by_owner_uid, orphans_by_namespace


def words(obj: Json) -> Iterable[Hashable]:
    """File under several values, one of them twice."""
    return [*obj["words"], *obj["words"][:1]]


INDEXERS = {
    "owner": by_owner_uid,
    "orphans": orphans_by_namespace,
    "node": by_node,
    "app": by_label("app"),
    "words": words,
}
KEYS = st.builds(Key, st.sampled_from(["a", "b"]), st.sampled_from(["x", "y", "z"]))
FEW = st.sampled_from(["one", "two", "three"])


@st.composite
def objects(draw: st.DrawFn) -> Json:
    key = draw(KEYS)
    owner = draw(st.none() | FEW)
    owners = [] if owner is None else [{"uid": owner, "controller": draw(st.booleans())}]
    return {
        "metadata": {
            "namespace": key.namespace,
            "name": key.name,
            "uid": draw(FEW),
            "resourceVersion": str(draw(st.integers(1, 10**6))),
            "labels": draw(st.none() | st.fixed_dictionaries({"app": FEW})),
            "ownerReferences": owners,
        },
        "spec": {"nodeName": draw(st.none() | FEW)},
        "words": draw(st.lists(FEW, max_size=3)),
    }


class MirrorMachine(RuleBasedStateMachine):
    """Events and lists go into a mirror; a plain dict and a handler keep the same books."""

    def __init__(self) -> None:
        super().__init__()
        self.mirror = Mirror(PODS, INDEXERS, lambda obj: obj, NO_INSTRUMENTATION)
        self.model: dict[Key, Json] = {}
        self.heard: dict[Key, Json] = {}

    @initialize()
    def listen(self) -> None:
        self.mirror.on_change(self._hear)

    def _hear(self, old: Json | None, new: Json | None) -> None:
        key = Key.of(new or old or {})
        known = self.heard.get(key)
        assert (known is None) == (old is None)
        assert old is None or known is None or uid_of(old) == uid_of(known)
        if new is None:
            del self.heard[key]
        else:
            self.heard[key] = new

    @rule(obj=objects(), kind=st.sampled_from(["ADDED", "MODIFIED"]))
    def change(self, obj: Json, kind: str) -> None:
        key = Key.of(obj)
        known = self.model.get(key)
        if known and known["metadata"]["resourceVersion"] == obj["metadata"]["resourceVersion"]:
            return  # no API server gives one version to two states
        self.mirror.apply(WatchEvent(kind, obj))
        self.model[key] = obj

    @rule(key=KEYS)
    def delete(self, key: Key) -> None:
        known = self.model.pop(key, None)
        last = known or {"metadata": {"namespace": key.namespace, "name": key.name}}
        self.mirror.apply(WatchEvent("DELETED", last))

    @rule(found=st.lists(objects(), max_size=6))
    def relist(self, found: list[Json]) -> None:
        listed = {Key.of(obj): obj for obj in found}
        for key, known in self.model.items():
            if (
                key in listed
                and known["metadata"]["resourceVersion"]
                == (listed[key]["metadata"]["resourceVersion"])
            ):
                listed[key] = known
        for obj in listed.values():
            self.mirror.upsert(obj)
        self.mirror.prune(listed.keys(), "9")
        self.model = listed

    @invariant()
    def store_and_handler_equal_the_model(self) -> None:
        store = self.mirror.store
        assert {key: store.get(key) for key in store.keys()} == self.model  # noqa: SIM118
        assert self.heard == self.model

    @invariant()
    def indexes_equal_a_recomputation(self) -> None:
        assert contents(self.mirror.store) == recomputed(self.model)

    @invariant()
    def no_empty_bucket_is_kept(self) -> None:
        for buckets in self.mirror.store._buckets.values():
            assert all(buckets.values())


def contents(store: Store) -> dict[tuple[str, Hashable], set[Key]]:
    return {
        (name, value): {Key.of(obj) for obj in store.by_index(name, value)}
        for name, buckets in store._buckets.items()
        for value in buckets
    }


def recomputed(model: dict[Key, Json]) -> dict[tuple[str, Hashable], set[Key]]:
    result: dict[tuple[str, Hashable], set[Key]] = defaultdict(set)
    for key, obj in model.items():
        for name, indexer in INDEXERS.items():
            for value in indexer(obj):
                result[name, value].add(key)
    return dict(result)


TestMirror = MirrorMachine.TestCase
TestMirror.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)

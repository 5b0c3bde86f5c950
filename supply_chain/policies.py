"""The policies in force, parsed as the informers hear of them."""

from collections.abc import Callable, Iterable, Sequence

from kube_runtime.informer import Informer
from kube_runtime.resource import Json, Key, labels_of
from supply_chain import names
from supply_chain.objects import ObjectReader
from supply_chain.resources import ImagePolicy, parse_policy


class PolicyIndex:
    """Answers from memory; a policy is parsed once, when it changes."""

    def __init__(
        self,
        informers: Sequence[Informer],
        namespaces: Informer,
        namespace_reader: ObjectReader,
        *,
        install_namespace: str,
    ) -> None:
        self._informers = informers
        self._namespaces = namespaces
        self._namespace_reader = namespace_reader
        self._install_namespace = install_namespace
        self._parsed: dict[tuple[str, Key], ImagePolicy] = {}
        for informer in informers:
            informer.on_change(self._changed(informer.resource.kind))

    def has_synced(self) -> bool:
        """Tell whether every policy is known."""
        return all(i.has_synced for i in [*self._informers, self._namespaces])

    def all(self) -> Iterable[ImagePolicy]:
        """Return every policy of both kinds."""
        return self._parsed.values()

    def get(self, kind: str, key: Key) -> ImagePolicy | None:
        """Return one policy."""
        return self._parsed.get((kind, key))

    async def namespace_mode(self, namespace: str) -> str:
        """Return the namespace's label for image policies, "" if it has none.

        A namespace that was made a moment ago may be unknown to the informer: then it is read.
        """
        found = self._namespaces.store.get(Key("", namespace))
        if found is None:
            found = await self._namespace_reader.get("", namespace)
        return labels_of(found).get(names.NAMESPACE_MODE_LABEL, "") if found else ""

    def _changed(self, kind: str) -> Callable[[Json | None, Json | None], None]:
        def changed(old: Json | None, new: Json | None) -> None:
            if new is not None:
                policy = parse_policy(
                    {"kind": kind, **new}, install_namespace=self._install_namespace
                )
                self._parsed[kind, Key.of(new)] = policy
            elif old is not None:
                self._parsed.pop((kind, Key.of(old)), None)

        return changed

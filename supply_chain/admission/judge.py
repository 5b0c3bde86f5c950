"""Judges images: policies, digest, signatures, verdict.

The order saves work and closes holes: no policy, no network; the digest is resolved once and
carried through; a kept verdict needs no registry. Whatever cannot be told is a denial with the
reason, and is not kept.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kube_runtime.clock import SYSTEM_CLOCK, Clock
from supply_chain.admission.images import PodTemplate
from supply_chain.admission.pull_secrets import PullSecrets
from supply_chain.cache import Question, VerdictCache
from supply_chain.errors import ImageNotFound, InvalidReference, SupplyChainError
from supply_chain.materials import Materials, ReadyPolicy
from supply_chain.names import MODE_ENFORCE
from supply_chain.plan import verdict as plan
from supply_chain.plan.verdict import ImageVerdict, PolicyVerdict
from supply_chain.registry.client import RepositoryClient
from supply_chain.registry.credentials import Keychain
from supply_chain.registry.reference import Digest, ImageReference, parse_reference
from supply_chain.registry.signatures import fetch_bundles
from supply_chain.registry.transport import Transport
from supply_chain.resources import ImagePolicy
from supply_chain.single_flight import SingleFlight
from supply_chain.verify.authorities import examine

_FLIGHT_SECONDS = 30.0  # an abandoned download ends too


class Policies(Protocol):
    """What the cluster has of policies right now."""

    def all(self) -> Iterable[ImagePolicy]:
        """Return every policy of both kinds."""

    async def namespace_mode(self, namespace: str) -> str:
        """Return the namespace's label for image policies, "" if it has none."""


class Judge:
    """Everything that is needed to judge an image."""

    def __init__(
        self,
        *,
        policies: Policies,
        materials: Materials,
        pull_secrets: PullSecrets,
        transport: Transport,
        cache: VerdictCache,
        deadline_seconds: float = 7.0,
        observe: Callable[[str], None] = lambda _: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._policies = policies
        self._materials = materials
        self._pull_secrets = pull_secrets
        self._transport = transport
        self._cache = cache
        self._deadline_seconds = deadline_seconds
        self._observe = observe
        self._clock = clock
        self._downloads = SingleFlight[tuple[str, Digest, str], list[bytes]]()

    async def judge_all(
        self, images: Iterable[str], namespace: str, template: PodTemplate
    ) -> dict[str, ImageVerdict]:
        """Judge each different image, all at once and all within the deadline."""
        different = list(dict.fromkeys(images))
        verdicts = await asyncio.gather(
            *(self._judge(image, namespace, template) for image in different)
        )
        for verdict in verdicts:
            self._observe(_result(verdict))
        return dict(zip(different, verdicts, strict=True))

    async def _judge(self, image: str, namespace: str, template: PodTemplate) -> ImageVerdict:
        try:
            reference = parse_reference(image)
        except InvalidReference as error:
            return await self._unreadable(image, namespace, error)
        policies = plan.covering(self._policies.all(), reference, namespace)
        if not policies:
            mode = await self._policies.namespace_mode(namespace)
            return plan.unmatched(reference, namespace=namespace, mode=mode)
        try:
            async with asyncio.timeout(self._deadline_seconds):
                keychain = await self._pull_secrets.keychain(namespace, template)
                return await self._by_policies(reference, policies, keychain)
        except TimeoutError:
            why = f"it could not be verified within {self._deadline_seconds:g} s"
            return _undecided(reference, policies, why, "try again, or look at the registry")
        except ImageNotFound as error:
            return _undecided(reference, policies, str(error), "push it, or correct the name")
        except SupplyChainError as error:
            return _undecided(reference, policies, str(error), "try again when that is mended")

    async def _unreadable(
        self, image: str, namespace: str, error: InvalidReference
    ) -> ImageVerdict:
        """Judge a text that is no reference: where policies are in force, it may hide from them.

        A runtime may still read it (a sha512 digest, say), so it is no less unmatched than others.
        """
        is_denied = any(p.namespace in {"", namespace} for p in self._policies.all()) or (
            await self._policies.namespace_mode(namespace) == MODE_ENFORCE
        )
        message = f"image {image[:200]}: {error}"
        return ImageVerdict(image, is_allowed=not is_denied, message=message)

    async def _by_policies(
        self, reference: ImageReference, policies: Sequence[ImagePolicy], keychain: Keychain
    ) -> ImageVerdict:
        credential = keychain.credential_for(reference.host, reference.repository)
        scope = keychain.scope_for(reference.host, reference.repository)
        connection = self._transport.connection(reference.host, reference.repository, credential)
        client = RepositoryClient(connection)
        digest = await client.resolve(reference)
        place = _Place(reference, digest, scope, client)
        verdicts = [await self._by_policy(policy, place) for policy in policies]
        return plan.combine(reference, digest, verdicts)

    async def _by_policy(self, policy: ImagePolicy, place: "_Place") -> PolicyVerdict:
        if policy.problem is not None:
            return plan.invalid(policy)
        ready = await self._materials.ready(policy)
        question = Question(
            place.reference.name,
            place.digest,
            policy.uid,
            policy.generation,
            ready.fingerprint,
            place.scope,
        )
        return await self._cache.get(question, lambda: self._verify(policy, ready, place))

    async def _verify(
        self, policy: ImagePolicy, ready: ReadyPolicy, place: "_Place"
    ) -> PolicyVerdict:
        async with asyncio.timeout(_FLIGHT_SECONDS):
            bundles = await self._downloads.run(
                (place.reference.name, place.digest, place.scope),
                lambda: fetch_bundles(place.client, place.digest),
            )
            findings = await asyncio.to_thread(
                examine, ready.authorities, bundles, place.digest, now=self._clock.now()
            )
        return plan.decide(policy, [*findings, *ready.problems])


@dataclass(frozen=True, slots=True)
class _Place:
    """A digest, where it is, and with whose rights we look."""

    reference: ImageReference
    digest: Digest
    scope: str
    client: RepositoryClient


def _undecided(
    reference: ImageReference, policies: Sequence[ImagePolicy], why: str, next_step: str
) -> ImageVerdict:
    names = ", ".join(str(policy) for policy in policies)
    message = plan.denial(reference, reference.digest, names, why, next_step)
    return ImageVerdict(
        reference.written,
        is_allowed=False,
        message=message,
        digest=reference.digest,
        is_matched=True,
        is_conclusive=False,
    )


def _result(verdict: ImageVerdict) -> str:
    if not verdict.is_conclusive:
        return "error"
    if not verdict.is_allowed:
        return "denied"
    return "verified" if verdict.is_matched else "unmatched"

"""Compare one declared object with the live one: locally first, by the server's dry run in doubt.

Used by the controller and by `levelset app diff` alike, so that what a person reads is what the status
means. Results are kept by declaration and resourceVersion: an unchanged object costs nothing.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from gitops_agent.diff.compare import ObjectDiff, compare
from gitops_agent.diff.merge import predict
from gitops_agent.diff.ownership import owned_by
from gitops_agent.diff.schemas import Schemas
from gitops_agent.names import FIELD_MANAGER
from gitops_agent.objects import Manifest, ObjectId, Redactor
from kube_runtime.api import ApiClient
from kube_runtime.errors import ApiError
from kube_runtime.resource import Json, Resource, resource_version_of, uid_of

_REMEMBERED: Final = 20_000
_Question = tuple[ObjectId, str, str, str]


@dataclass(frozen=True, slots=True)
class Target:
    """A declared object and the kind that serves it; None while its CRD is not there yet."""

    manifest: Manifest
    resource: Resource | None

    @property
    def id(self) -> ObjectId:
        """The object that is meant."""
        return self.manifest.id


class Differ:
    """Compares, and remembers."""

    def __init__(self, api: ApiClient, schemas: Schemas, redactor: Redactor) -> None:
        self._api = api
        self._schemas = schemas
        self._redactor = redactor
        self._answers: OrderedDict[_Question, ObjectDiff] = OrderedDict()

    async def diff(self, target: Target, live: Json | None) -> ObjectDiff:
        """Return the difference that a sync would make up for; empty when there is none."""
        manifest = target.manifest
        if live is None or target.resource is None:
            return compare(manifest.id, None, manifest.view)
        question = (manifest.id, manifest.digest, uid_of(live), resource_version_of(live))
        if (answer := self._answers.get(question)) is not None:
            self._answers.move_to_end(question)
            return answer
        schema = await self._schemas.of(target.resource)
        predicted = predict(live, manifest.view, owned_by(live, FIELD_MANAGER), schema)
        answer = compare(manifest.id, live, predicted)
        if answer:
            try:
                answer = await self._ask(manifest, target.resource, live)
            except ApiError:
                # Refused, or no verdict: the preflight will say why. Not remembered.
                return answer
        self._answers[question] = answer
        if len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)
        return answer

    async def _ask(self, manifest: Manifest, resource: Resource, live: Json) -> ObjectDiff:
        """Compare with what the server would make of it."""
        outcome = await self._api.apply(
            resource, manifest.body, field_manager=FIELD_MANAGER, force=True, dry_run=True
        )
        return compare(manifest.id, live, self._redactor.view(outcome))

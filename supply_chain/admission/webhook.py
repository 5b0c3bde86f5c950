"""The two webhooks: one pins what is verified, the other verifies everything again.

The second trusts nothing that a user, or another webhook after ours, could have written: no
annotation, no earlier answer. What changes no image passes without a question to anybody, so a
registry that is down never stops a scale-down, a status, a finalizer or a delete.
"""

from kube_runtime.resource import Json
from supply_chain.admission import images
from supply_chain.admission.images import ImageUse
from supply_chain.admission.judge import Judge
from supply_chain.admission.review import Answer, Review
from supply_chain.plan.verdict import ImageVerdict
from supply_chain.registry.reference import parse_reference

ALLOWED = Answer(is_allowed=True)


async def mutate(review: Review, judge: Judge) -> Answer:
    """Verify the new images of a pod and put their digests in place of their tags.

    Templates are left as they were written: a digest that appears in a Deployment would look like
    drift to whoever applied it.
    """
    if review.kind != "Pod":
        return ALLOWED
    verdicts = await _verdicts(review, judge)
    denied = _first_denial(verdicts)
    if denied is not None:
        return denied
    patch = [step for use, verdict in verdicts if (step := _pin(use, verdict)) is not None]
    return Answer(is_allowed=True, patch=patch)


async def validate(review: Review, judge: Judge) -> Answer:
    """Verify the new images of a pod or a template; a pod's must be pinned by now."""
    verdicts = await _verdicts(review, judge)
    denied = _first_denial(verdicts)
    if denied is not None:
        return denied
    if review.kind == "Pod":
        for use, verdict in verdicts:
            if _pin(use, verdict) is not None:
                return Answer(is_allowed=False, message=_unpinned(use, verdict))
    return ALLOWED


async def _verdicts(review: Review, judge: Judge) -> list[tuple[ImageUse, ImageVerdict]]:
    if not review.is_relevant:
        return []
    new = images.read_template(review.obj, review.kind)
    old = images.read_template(review.old, review.kind) if review.old else None
    changed = images.changed_uses(new, old)
    if not changed:
        return []
    verdicts = await judge.judge_all((use.image for use in changed), review.namespace, new)
    return [(use, verdicts[use.image]) for use in changed]


def _first_denial(verdicts: list[tuple[ImageUse, ImageVerdict]]) -> Answer | None:
    for _, verdict in verdicts:
        if not verdict.is_allowed:
            return Answer(is_allowed=False, message=verdict.message)
    return None


def _pin(use: ImageUse, verdict: ImageVerdict) -> Json | None:
    """Return the patch that pins the image, None if it is pinned or nobody vouched for it."""
    if not verdict.is_matched or verdict.digest is None or "@" in use.image:
        return None
    pinned = parse_reference(use.image).pinned(verdict.digest)
    return {"op": "replace", "path": use.pointer, "value": pinned}


def _unpinned(use: ImageUse, verdict: ImageVerdict) -> str:
    return (
        f"image {use.image}: verified as {verdict.digest}, but not pinned: the tag may move before "
        "the node pulls it; expected the mutating webhook to have put the digest in its place: "
        "check that it is installed and that nothing changes the image after it"
    )

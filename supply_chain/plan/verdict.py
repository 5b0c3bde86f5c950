"""From findings to a verdict: pure, no I/O, no clock.

Within a policy one satisfied authority suffices; every policy that covers the image must be
satisfied. A namespaced policy is one more condition, so it can tighten and never loosen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from supply_chain.names import MODE_ENFORCE, NAMESPACE_MODE_LABEL
from supply_chain.registry.reference import Digest, ImageReference
from supply_chain.resources import ImagePolicy


@dataclass(frozen=True, slots=True)
class Finding:
    """What one authority makes of the signatures of an image."""

    authority: str
    is_satisfied: bool
    why: str


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """What one policy makes of one digest."""

    policy: str
    is_allowed: bool
    why: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class ImageVerdict:
    """What all policies together make of an image; `digest` is set once it is known."""

    image: str
    is_allowed: bool
    message: str
    digest: Digest | None = None
    is_matched: bool = False
    is_conclusive: bool = True


def covering(
    policies: Iterable[ImagePolicy], image: ImageReference, namespace: str
) -> list[ImagePolicy]:
    """Return the policies that must be satisfied, cluster policies first, by name."""
    found = [policy for policy in policies if policy.covers(image.name, namespace)]
    return sorted(found, key=lambda policy: (policy.namespace, policy.name))


def unmatched(image: ImageReference, *, namespace: str, mode: str) -> ImageVerdict:
    """Judge an image about which no policy speaks: denied only where the namespace says so."""
    if mode != MODE_ENFORCE:
        return ImageVerdict(image.written, is_allowed=True, message="no policy covers the image")
    message = (
        f"image {image.written}: denied in namespace {namespace}: no image policy covers "
        f"{image.name}, and the namespace is labelled {NAMESPACE_MODE_LABEL}={MODE_ENFORCE}; "
        "add an ImagePolicy for it or use an image that a policy covers"
    )
    return ImageVerdict(image.written, is_allowed=False, message=message)


def invalid(policy: ImagePolicy) -> PolicyVerdict:
    """Judge by a policy that makes no sense: it cannot vouch for anything."""
    return PolicyVerdict(
        str(policy), is_allowed=False, why=f"the policy is invalid: {policy.problem}",
        next_step="correct the policy",
    )  # fmt: skip


def decide(policy: ImagePolicy, findings: Sequence[Finding]) -> PolicyVerdict:
    """Judge by one policy: any authority suffices, none is a denial."""
    for finding in findings:
        if finding.is_satisfied:
            return PolicyVerdict(str(policy), is_allowed=True, why=finding.why)
    whys = list(dict.fromkeys(finding.why for finding in findings)) or ["it has no authority"]
    why = whys[0] if len(whys) == 1 else "; ".join(_with_name(f) for f in findings)
    names = ", ".join(finding.authority for finding in findings)
    return PolicyVerdict(
        str(policy), is_allowed=False, why=why,
        next_step=f"sign the digest as an authority of the policy accepts ({names})",
    )  # fmt: skip


def combine(
    image: ImageReference, digest: Digest, verdicts: Sequence[PolicyVerdict]
) -> ImageVerdict:
    """Judge by all policies: the first denial is the answer."""
    for verdict in verdicts:
        if not verdict.is_allowed:
            message = denial(image, digest, verdict.policy, verdict.why, verdict.next_step)
            return ImageVerdict(image.written, False, message, digest, is_matched=True)
    allowed_by = ", ".join(verdict.policy for verdict in verdicts)
    return ImageVerdict(image.written, True, f"allowed by {allowed_by}", digest, is_matched=True)


def denial(
    image: ImageReference, digest: Digest | None, policy: str, why: str, next_step: str
) -> str:
    """Write the sentence that a person sees: image, digest, policy, reason, next step."""
    known = f" ({digest})" if digest and digest not in image.written else ""
    return f"image {image.written}{known}: denied by {policy}: {why}; {next_step}"


def _with_name(finding: Finding) -> str:
    return f"{finding.authority}: {finding.why}"

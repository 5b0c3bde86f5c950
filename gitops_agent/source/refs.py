"""What `git ls-remote` saw, and which commit a targetRevision means in it.

Pure. A ref is resolved once per reconcile and the commit is carried on; there is no falling back to
another revision: what cannot be resolved without doubt is an error.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NewType

from gitops_agent.errors import InvalidSpec, RevisionNotFound

Commit = NewType("Commit", str)

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ABBREVIATED: Final = re.compile(r"[0-9a-f]{7,63}")
_PEELED: Final = "^{}"
# git-check-ref-format(1), as far as it guards a command line and a path.
_REF: Final = re.compile(r"(?!-)(?!.*(?:\.\.|//|@\{|\.lock$|/$))[^\x00-\x20\x7f~^:?*\[\\]+")


@dataclass(frozen=True, slots=True)
class RefSnapshot:
    """All refs of a repository at one moment; tags are peeled to their commits."""

    refs: Mapping[str, Commit]
    head: str | None = None

    @classmethod
    def parse(cls, output: bytes) -> "RefSnapshot":
        """Read the output of `git ls-remote --symref`."""
        refs: dict[str, Commit] = {}
        peeled: dict[str, Commit] = {}
        head = None
        for line in output.decode(errors="replace").splitlines():
            value, _, name = line.partition("\t")
            if value.startswith("ref: "):
                head = value.removeprefix("ref: ") if name == "HEAD" else head
            elif name.endswith(_PEELED):
                peeled[name.removesuffix(_PEELED)] = Commit(value)
            elif name:
                refs[name] = Commit(value)
        return cls(refs=refs | peeled, head=head)

    def resolve(self, target: str) -> Commit:
        """Return the commit; raises RevisionNotFound, or InvalidSpec where the name is ambiguous."""
        if _COMMIT.fullmatch(target):
            return Commit(target)
        if target == "HEAD":
            return self._named("HEAD", target)
        if target.startswith("refs/"):
            return self._named(target, target)
        branch, tag = self.refs.get(f"refs/heads/{target}"), self.refs.get(f"refs/tags/{target}")
        if branch and tag and branch != tag:
            raise InvalidSpec(
                f"spec.source.targetRevision: {target!r} is a branch and a tag of different commits; "
                f"write refs/heads/{target} or refs/tags/{target}"
            )
        if found := branch or tag:
            return found
        if _ABBREVIATED.fullmatch(target):
            raise InvalidSpec(
                f"spec.source.targetRevision: {target!r} looks like a short commit; write all 40 digits"
            )
        raise RevisionNotFound(f"no branch or tag {target!r} among {len(self.refs)} refs")

    def _named(self, ref: str, target: str) -> Commit:
        if ref in self.refs:
            return self.refs[ref]
        raise RevisionNotFound(f"no ref {target!r} among {len(self.refs)} refs")


def check_revision(target: str) -> str:
    """Refuse what Git would refuse as a ref name, or take for an option."""
    if not _REF.fullmatch(target):
        raise InvalidSpec(
            f"spec.source.targetRevision: {target!r} is no branch, tag, ref or commit"
        )
    return target

"""What can go wrong between a push and a level cluster, one class for each thing a user can act upon.

`reason` goes into conditions and metrics, the text to people; neither ever holds a secret.
"""

# ruff: noqa: N818 - named as what happened; `except RenderFailed` reads so

from kube_runtime.errors import LevelsetError


class GitOpsError(LevelsetError):
    """The base of everything that the agent raises on purpose."""

    reason = "GitOpsError"
    retry_after: float | None = 30.0

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        if retry_after is not None:
            self.retry_after = retry_after


class InvalidSpec(GitOpsError):
    """The Application asks for something that cannot be; only an edit helps."""

    reason = "InvalidSpec"
    retry_after = None


class GitFailed(GitOpsError):
    """Git did not do what it was asked to: network, server, disk or time."""

    reason = "GitFailed"


class AuthenticationFailed(GitFailed):
    """The server refused the credentials, or there are none."""

    reason = "AuthenticationFailed"
    retry_after = 60.0


class HostKeyRejected(GitFailed):
    """The SSH host is not the one that knownHosts promises."""

    reason = "HostKeyRejected"
    retry_after = 60.0


class RevisionNotFound(GitFailed):
    """The branch, tag or commit is not in the repository."""

    reason = "RevisionNotFound"
    retry_after = 60.0


class LimitExceeded(GitOpsError):
    """Something in the repository is larger than the agent is allowed to take in."""

    reason = "LimitExceeded"
    retry_after = None


class UnsafePath(GitOpsError):
    """A path or link leads out of the repository."""

    reason = "UnsafePath"
    retry_after = None


class RenderFailed(GitOpsError):
    """The commit does not render into objects; nothing is applied and nothing pruned."""

    reason = "RenderFailed"
    retry_after = None


class UnknownKind(GitOpsError):
    """The cluster does not serve a kind that the commit uses; its CRD may come from elsewhere."""

    reason = "UnknownKind"


class OwnedByAnother(GitOpsError):
    """An object in Git belongs to another Application in the cluster."""

    reason = "OwnedByAnother"
    retry_after = 60.0


class ProtectedNamespace(GitOpsError):
    """An object in Git would go to a namespace that only Applications of its own may change."""

    reason = "ProtectedNamespace"


class PreflightRefused(GitOpsError):
    """Admission refused at least one object; nothing was applied."""

    reason = "PreflightRefused"


class PreflightFailed(GitOpsError):
    """The API server, or a webhook that it asks, could not give a verdict; nothing was applied."""

    reason = "PreflightFailed"


class ApplyFailed(GitOpsError):
    """An object could not be applied although the preflight let it pass."""

    reason = "ApplyFailed"

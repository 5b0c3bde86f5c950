"""The errors of the supply chain part: one base, and what the caller has to tell apart.

A `VerificationFailed` is an answer about a signature and may be cached for a moment;
a `RegistryError` or `MaterialUnavailable` is the lack of an answer and is never cached.
"""

# ruff: noqa: N818 - named as what happened, like the API's own reasons

from kube_runtime.errors import LevelsetError


class SupplyChainError(LevelsetError):
    """The base of all errors of this part; `reason` is CamelCase, `str()` is for people."""

    reason = "SupplyChainError"
    retry_after: float | None = None

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        if reason is not None:
            self.reason = reason

    def diagnostics(self) -> str:
        """Tell what is wrong, in one line."""
        return str(self)


class InvalidReference(SupplyChainError):
    """A text that is no image reference."""

    reason = "InvalidReference"


class InvalidPolicy(SupplyChainError):
    """A policy that the schema let through and that still makes no sense; permanent."""

    reason = "InvalidPolicy"


class MaterialUnavailable(SupplyChainError):
    """A key or trust root that a policy refers to cannot be read."""

    reason = "MaterialUnavailable"
    retry_after = 30.0


class VerificationFailed(SupplyChainError):
    """A signature that does not satisfy an authority: an answer, not an outage."""

    reason = "VerificationFailed"


class RegistryError(SupplyChainError):
    """The registry gave no usable answer; nothing follows about the image."""

    reason = "RegistryError"
    retry_after = 5.0


class RegistryUnreachable(RegistryError):
    """No connection, or none in time."""

    reason = "RegistryUnreachable"


class RegistryDenied(RegistryError):
    """The registry wants other credentials than we have."""

    reason = "RegistryDenied"


class ImageNotFound(RegistryError):
    """The registry does not know the tag or digest."""

    reason = "ImageNotFound"


class UntrustworthyRegistry(RegistryError):
    """An answer that breaks the protocol or a limit: wrong digest, too large, endless pages."""

    reason = "UntrustworthyRegistry"


class BadCertificates(SupplyChainError):
    """The webhook's certificate Secret is missing or unreadable."""

    reason = "BadCertificates"
    retry_after = 5.0

"""Errors of this package; each says what, where, what was expected and found, and what to do."""

from __future__ import annotations

from kube_runtime.errors import LevelsetError


class ExportersError(LevelsetError):
    """The base of what this package raises on purpose."""

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class UnknownMetric(ExportersError, KeyError):  # noqa: N818 - reads as what happened
    """A metric is asked for that the catalogue does not have in this form."""

    def __init__(self, name: str, found: str) -> None:
        super().__init__(f"metric {name!r}: {found}", reason="UnknownMetric")

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class BadCertificate(ExportersError):  # noqa: N818
    """The serving certificate cannot be used."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="BadCertificate")


class CannotServe(ExportersError):  # noqa: N818
    """The metrics port cannot be opened."""

    def __init__(self, message: str) -> None:
        super().__init__(message, reason="CannotServe")

"""When to renew what: pure but for the keys that it makes.

The API server must trust the new authority before anything is signed by it, and still trust the
old one while some replica serves with it. So an authority lives through four steps: announced
(in caBundle only), signing, retired (in caBundle only), gone. No handshake fails on the way.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from supply_chain.certificates.x509 import Signer, make_authority, make_serving

_RENEW_AT: Final = 2 / 3
"""A certificate is renewed when two thirds of its life are over: time for many failed tries."""


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long what lives, in seconds."""

    authority_seconds: float = 365 * 86_400
    serving_seconds: float = 30 * 86_400
    announce_seconds: float = 60
    """From when the API server is told of a new authority until it signs."""
    retire_seconds: float = 3_600
    """From when an authority no longer signs until the API server forgets it."""


@dataclass(frozen=True, slots=True)
class Certificates:
    """All that the Secret holds."""

    authority: Signer
    serving: Signer
    names: tuple[str, ...]
    next_authority: Signer | None = None
    retired_pem: bytes | None = None

    @property
    def bundle(self) -> bytes:
        """Return what the API server should trust: retired, signing and announced."""
        parts = [self.retired_pem, self.authority.certificate_pem]
        parts.append(self.next_authority.certificate_pem if self.next_authority else None)
        return b"".join(part for part in parts if part)


Make = Callable[[dt.datetime, float], Signer]


def plan(
    present: Certificates | None,
    *,
    names: tuple[str, ...],
    lifetimes: Lifetimes,
    now: dt.datetime,
    is_announced: Callable[[bytes], bool],
) -> Certificates:
    """Return what the Secret should hold now; the same object if it is right already.

    `is_announced` tells whether the API server trusts a certificate (PEM) already.
    """
    if present is None or present.authority.expires <= now:
        return _fresh(names, lifetimes, now)
    wanted = _with_authority(present, lifetimes, now, is_announced)
    wanted = _without_retired(wanted, lifetimes, now)
    return _with_serving(wanted, names, lifetimes, now)


def _fresh(names: tuple[str, ...], lifetimes: Lifetimes, now: dt.datetime) -> Certificates:
    authority = make_authority(now, lifetimes.authority_seconds)
    serving = make_serving(authority, names, now, lifetimes.serving_seconds)
    return Certificates(authority, serving, names)


def _with_authority(
    present: Certificates,
    lifetimes: Lifetimes,
    now: dt.datetime,
    is_announced: Callable[[bytes], bool],
) -> Certificates:
    following = present.next_authority
    if following is None:
        if not _is_due(present.authority, now):
            return present
        return replace(present, next_authority=make_authority(now, lifetimes.authority_seconds))
    age = (now - following.starts).total_seconds()
    if age < lifetimes.announce_seconds or not is_announced(following.certificate_pem):
        return present
    return replace(
        present,
        authority=following,
        next_authority=None,
        retired_pem=present.authority.certificate_pem,
        serving=make_serving(following, present.names, now, lifetimes.serving_seconds),
    )


def _without_retired(present: Certificates, lifetimes: Lifetimes, now: dt.datetime) -> Certificates:
    # The serving certificate was made when the former authority retired, or later.
    age = (now - present.serving.starts).total_seconds()
    if present.retired_pem is None or age < lifetimes.retire_seconds:
        return present
    return replace(present, retired_pem=None)


def _with_serving(
    present: Certificates, names: tuple[str, ...], lifetimes: Lifetimes, now: dt.datetime
) -> Certificates:
    is_ours = present.serving.is_signed_by(present.authority) and present.names == names
    if is_ours and not _is_due(present.serving, now):
        return present
    serving = make_serving(present.authority, names, now, lifetimes.serving_seconds)
    return replace(present, serving=serving, names=names)


def _is_due(signer: Signer, now: dt.datetime) -> bool:
    life = (signer.expires - signer.starts).total_seconds()
    return (now - signer.starts).total_seconds() >= life * _RENEW_AT

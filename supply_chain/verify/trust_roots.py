"""Trust roots, narrowed to what was valid when a signature was made.

sigstore 4.5.1 accepts certificates of an authority, and entries of a log, whose `validFor` ended
years before the signing. So every verification here runs against a copy of the root that holds
only the authorities and logs valid at every time that the bundle proves.
"""

import datetime as dt
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import rfc3161_client
from pydantic import ValidationError
from sigstore._internal.trust import CertificateAuthority
from sigstore.errors import Error as SigstoreError
from sigstore.models import TrustedRoot
from sigstore.verify import Verifier
from sigstore_models.common import v1 as common_v1
from sigstore_models.trustroot import v1 as trustroot_v1

from supply_chain.errors import InvalidPolicy, VerificationFailed

_MAX_ROOT_BYTES: Final = 262_144
_TICK: Final = dt.timedelta(microseconds=1)


class TrustRoot:
    """A parsed trusted_root.json."""

    def __init__(self, inner: trustroot_v1.TrustedRoot) -> None:
        self._inner = inner
        self._authorities = [CertificateAuthority(each) for each in inner.timestamp_authorities]
        self._verifier = lru_cache(maxsize=64)(self._build_verifier)

    @classmethod
    def parse(cls, text: str) -> "TrustRoot":
        """Parse a trusted_root.json; raises InvalidPolicy."""
        if len(text) > _MAX_ROOT_BYTES:
            raise InvalidPolicy(f"a trust root of {len(text)} bytes: at most {_MAX_ROOT_BYTES}")
        try:
            root = trustroot_v1.TrustedRoot.from_json(text)
            TrustedRoot(root)
            return cls(root)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise InvalidPolicy(f"not a trusted_root.json: {where}: {first['msg']}") from error
        except (SigstoreError, ValueError, TypeError) as error:
            raise InvalidPolicy(f"not a trusted_root.json: {error}") from error

    def stamped_times(self, tokens: Iterable[bytes], signature: bytes) -> list[dt.datetime]:
        """Return the times at which trusted authorities stamped the signature."""
        return [time for token in tokens if (time := self._stamped(token, signature)) is not None]

    def logs_at(self, times: Sequence[dt.datetime]) -> TrustedRoot:
        """Return a root with the logs that were valid at all these times."""
        logs = [log for log in self._inner.tlogs if _covers_all(log.public_key.valid_for, times)]
        if not logs:
            raise VerificationFailed(
                f"no log of the trust root was valid at {_shown(times)}", reason="OutsideValidity"
            )
        return TrustedRoot(self._inner.model_copy(update={"tlogs": logs}))

    def verifier_at(
        self, times: Sequence[dt.datetime], certified: Sequence[dt.datetime]
    ) -> Verifier:
        """Return a verifier over what was valid at all these times.

        `certified` is when the certificate-transparency log promised to list the certificate.
        """
        root = self._inner
        logs = _indexes((log.public_key.valid_for for log in root.tlogs), times, "log")
        issuers = _indexes(
            (each.valid_for for each in root.certificate_authorities), times, "authority"
        )
        ct_logs = _indexes((log.public_key.valid_for for log in root.ctlogs), certified, "CT log")
        return self._verifier(logs, issuers, ct_logs)

    def _build_verifier(
        self, logs: tuple[int, ...], issuers: tuple[int, ...], ct_logs: tuple[int, ...]
    ) -> Verifier:
        root = self._inner
        narrowed = root.model_copy(
            update={
                "tlogs": [root.tlogs[at] for at in logs],
                "certificate_authorities": [root.certificate_authorities[at] for at in issuers],
                "ctlogs": [root.ctlogs[at] for at in ct_logs],
                "timestamp_authorities": [_closed(each) for each in root.timestamp_authorities],
            }
        )
        return Verifier(trusted_root=TrustedRoot(narrowed))

    def _stamped(self, token: bytes, signature: bytes) -> dt.datetime | None:
        try:
            response = rfc3161_client.decode_timestamp_response(token)
        except ValueError as error:
            raise VerificationFailed(
                "the bundle is malformed: a timestamp does not parse", reason="Malformed"
            ) from error
        time = response.tst_info.gen_time
        for authority in self._authorities:
            if _covers(authority._inner.valid_for, time) and _is_by(  # noqa: SLF001 - pinned 4.5.1
                authority, response, signature
            ):
                return time
        return None


def _is_by(
    authority: CertificateAuthority, response: rfc3161_client.TimeStampResponse, signature: bytes
) -> bool:
    leaf, *rest = authority.certificates(allow_expired=True)
    if not rest:
        return False
    builder = rfc3161_client.VerifierBuilder().tsa_certificate(leaf)
    builder = builder.add_root_certificate(rest[-1])
    for certificate in rest[:-1]:
        builder = builder.add_intermediate_certificate(certificate)
    try:
        builder.build().verify_message(response, signature)
    except rfc3161_client.VerificationError:
        return False
    return True


def _closed(authority: trustroot_v1.CertificateAuthority) -> trustroot_v1.CertificateAuthority:
    """Sigstore reads `validFor` of a timestamp authority as half open; the format says closed."""
    if authority.valid_for.end is None:
        return authority
    valid_for = authority.valid_for.model_copy(update={"end": authority.valid_for.end + _TICK})
    return authority.model_copy(update={"valid_for": valid_for})


def _indexes(
    ranges: Iterable[common_v1.TimeRange | None], times: Sequence[dt.datetime], what: str
) -> tuple[int, ...]:
    kept = tuple(at for at, valid_for in enumerate(ranges) if _covers_all(valid_for, times))
    if not kept:
        raise VerificationFailed(
            f"no {what} of the trust root was valid at {_shown(times)}", reason="OutsideValidity"
        )
    return kept


def _covers_all(valid_for: common_v1.TimeRange | None, times: Iterable[dt.datetime]) -> bool:
    return all(_covers(valid_for, time) for time in times)


def _covers(valid_for: common_v1.TimeRange | None, time: dt.datetime) -> bool:
    if valid_for is None:
        return True
    if time < valid_for.start:
        return False
    return valid_for.end is None or time <= valid_for.end


def _shown(times: Sequence[dt.datetime]) -> str:
    return " and ".join(time.isoformat() for time in times) or "any time"

"""Certificates: when what is renewed, and that every handshake succeeds on the way."""

import datetime as dt
import ssl

import pytest

from supply_chain.certificates.plan import Certificates, Lifetimes, plan
from supply_chain.certificates.secret import read_secret, write_secret
from supply_chain.certificates.serving import _load
from supply_chain.errors import BadCertificates

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NAMES = ("guard.levelset-system.svc", "127.0.0.1")
SHORT = Lifetimes(
    authority_seconds=900, serving_seconds=300, announce_seconds=60, retire_seconds=120
)


def look(
    present: Certificates | None,
    seconds: float,
    *,
    names: tuple[str, ...] = NAMES,
    announced: bool = True,
) -> Certificates:
    return plan(
        present,
        names=names,
        lifetimes=SHORT,
        now=START + dt.timedelta(seconds=seconds),
        is_announced=lambda _: announced,
    )


def test_what_is_right_is_left_alone() -> None:
    fresh = look(None, 0)

    assert look(fresh, 199) is fresh


def test_a_serving_certificate_is_renewed_after_two_thirds_of_its_life() -> None:
    fresh = look(None, 0)

    renewed = look(fresh, 200)

    assert renewed.authority is fresh.authority
    assert renewed.serving.expires > fresh.serving.expires


def test_a_new_name_makes_a_new_certificate() -> None:
    assert look(look(None, 0), 1, names=("other",)).names == ("other",)


def test_an_authority_is_announced_before_it_signs() -> None:
    due = look(look(None, 0), 600)
    assert due.next_authority is not None
    assert due.next_authority.certificate_pem in due.bundle
    assert due.serving.is_signed_by(due.authority)

    assert look(due, 659).authority is due.authority
    assert look(due, 661, announced=False).authority is due.authority
    signing = look(due, 661)
    assert signing.authority is due.next_authority
    assert signing.serving.is_signed_by(signing.authority)
    assert due.authority.certificate_pem in signing.bundle

    retired = look(signing, 661 + 120)
    assert retired.bundle == signing.authority.certificate_pem


@pytest.mark.parametrize("tick", [15, 45])
def test_who_trusts_the_last_bundle_accepts_what_is_served_until_the_next_look(tick: int) -> None:
    """Over many generations: the API server may lag one look behind, a replica likewise."""
    present = look(None, 0)
    trusted, served = present.bundle, present.serving

    for seconds in range(tick, 5000, tick):
        following = look(present, seconds)
        for serving in (served, following.serving):
            assert serving.expires > START + dt.timedelta(seconds=seconds)
        # the old bundle must accept the new certificate, and the new bundle the old one
        assert _accepts(trusted, following)
        assert _accepts(following.bundle, present)
        present, trusted, served = following, following.bundle, following.serving


def _accepts(bundle: bytes, certificates: Certificates) -> bool:
    return certificates.authority.certificate_pem.strip() in bundle


def test_an_authority_that_has_ended_is_replaced_at_once() -> None:
    fresh = look(None, 0)

    assert look(fresh, 901).authority is not fresh.authority


def test_the_secret_is_written_and_read_alike() -> None:
    signing = look(look(look(None, 0), 600), 661)

    again = read_secret({"data": write_secret(signing)})

    assert again is not None
    assert again.bundle == signing.bundle
    assert again.names == NAMES
    assert again.serving.is_signed_by(again.authority)


def test_a_damaged_secret_is_an_error_and_an_empty_one_is_none() -> None:
    data = write_secret(look(None, 0))

    assert read_secret({}) is None
    for broken in ({**data, "ca.key": "!"}, {**data, "tls.crt": data["ca.crt"]}, {"ca.crt": "x"}):
        with pytest.raises(BadCertificates):
            read_secret({"data": broken})


def test_no_representation_shows_a_key() -> None:
    assert "key=" not in repr(look(None, 0))


def test_another_certificate_is_loaded_into_a_context_in_use() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    now = dt.datetime.now(dt.UTC)
    for _ in range(2):
        fresh = plan(None, names=NAMES, lifetimes=SHORT, now=now, is_announced=lambda _: True)
        _load(context, fresh.serving)
        assert _served_name(context, fresh) == "guard.levelset-system.svc"


def _served_name(context: ssl.SSLContext, certificates: Certificates) -> str:
    """Shake hands in memory, trusting only what the API server would be told."""
    client_context = ssl.create_default_context(cadata=certificates.bundle.decode())
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = client_context.wrap_bio(to_client, to_server, server_hostname=NAMES[0])
    for _ in range(4):
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    found = client.getpeercert()
    assert found is not None
    names = found["subjectAltName"]
    assert isinstance(names, tuple)
    return str(names[0][1])

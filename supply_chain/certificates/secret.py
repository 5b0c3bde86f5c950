"""The Secret that the certificates live in, so that all replicas serve with the same ones."""

import base64
import binascii

from kube_runtime.resource import Json
from supply_chain.certificates.plan import Certificates
from supply_chain.certificates.x509 import Signer, load_signer, names_in
from supply_chain.errors import BadCertificates


def write_secret(certificates: Certificates) -> dict[str, str]:
    """Return the Secret's data."""
    entries = {
        "ca.crt": certificates.authority.certificate_pem,
        "ca.key": certificates.authority.key_pem,
        "tls.crt": certificates.serving.certificate_pem,
        "tls.key": certificates.serving.key_pem,
    }
    if following := certificates.next_authority:
        entries |= {"next-ca.crt": following.certificate_pem, "next-ca.key": following.key_pem}
    if certificates.retired_pem:
        entries["retired-ca.crt"] = certificates.retired_pem
    return {name: base64.b64encode(value).decode() for name, value in entries.items()}


def read_secret(secret: Json) -> Certificates | None:
    """Return the certificates in the Secret, None if it is empty; raises BadCertificates."""
    data = secret.get("data") or {}
    if not data:
        return None
    serving = _signer(data, "tls")
    return Certificates(
        authority=_signer(data, "ca"),
        serving=serving,
        names=names_in(serving.certificate),
        next_authority=_signer(data, "next-ca") if "next-ca.crt" in data else None,
        retired_pem=_entry(data, "retired-ca.crt") if "retired-ca.crt" in data else None,
    )


def _signer(data: Json, name: str) -> Signer:
    return load_signer(_entry(data, f"{name}.crt"), _entry(data, f"{name}.key"))


def _entry(data: Json, name: str) -> bytes:
    try:
        return base64.b64decode(data[name], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        raise BadCertificates(
            f"entry {name} of the certificate Secret is missing or damaged"
        ) from (error)

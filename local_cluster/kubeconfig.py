"""Writes kubeconfig files for the users of a local cluster.

Everything is embedded, so that a file can be copied out of the state folder and still work.
"""

import base64
from pathlib import Path

import yaml

from local_cluster import pki


def write(
    path: Path, *, server: str, authority: Path, user: pki.Certificate, name: str = "levelset"
) -> Path:
    """Write a kubeconfig with one context, readable by its owner alone."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority-data": _encoded(authority)},
            }
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _encoded(user.certificate),
                    "client-key-data": _encoded(user.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    temporary = path.with_name(f".{path.name}.new")
    temporary.touch(mode=0o600)
    temporary.write_text(yaml.safe_dump(document, sort_keys=False))
    return temporary.replace(path)


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()

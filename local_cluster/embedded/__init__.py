"""A whole cluster out of programs on this machine, without Docker; real nodes need root."""

from local_cluster.embedded.provider import EmbeddedProvider

__all__ = ["EmbeddedProvider"]

"""A whole cluster out of programs on this machine, without Docker; real nodes need root."""

from local_cluster.embedded.provider import EmbeddedProvider, why_no_real_nodes

__all__ = ["EmbeddedProvider", "why_no_real_nodes"]

"""The programs that a local cluster is made of: where they are, or how to get them.

`find("kube-apiserver")` looks in LEVELSET_BIN_DIR, on PATH (only the pinned version) and in the
cache; `levelset tools install` builds what is missing. Versions stand in the go.mod files beside
this module and nowhere else.
"""

from local_cluster.tools.catalogue import PROGRAMS, Program, program
from local_cluster.tools.lookup import Found, Origin, cache_path, find, look

__all__ = ["PROGRAMS", "Found", "Origin", "Program", "cache_path", "find", "look", "program"]

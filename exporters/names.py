"""Names that this part has in a cluster, in one place."""

from __future__ import annotations

from typing import Final

PROCESS: Final = "levelset-exporters"
"""Lease, ServiceAccount and user agent of the exporter."""

ENVIRONMENT_PREFIX: Final = "LEVELSET_EXPORTERS_"

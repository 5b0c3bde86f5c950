"""`python -m supply_chain`: the admission server, its certificates and the policies' status."""

import functools
import sys
from collections.abc import Sequence

from kube_runtime.process import run_main
from kube_runtime.settings import load_settings
from supply_chain.process import run
from supply_chain.settings import SupplyChainSettings


def main(argv: Sequence[str] | None = None) -> int:
    """Run until told to stop; returns the exit code."""
    settings = load_settings(
        SupplyChainSettings,
        argv,
        env_prefix="LEVELSET_SUPPLY_CHAIN_",
        prog="python -m supply_chain",
    )
    return run_main(settings.process, functools.partial(run, settings))


if __name__ == "__main__":
    sys.exit(main())

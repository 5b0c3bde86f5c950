"""A parser whose complaints are one line and exit code 2.

argparse prints its whole usage before each complaint, thirty lines for a controller, and calls an
unknown flag a missing command. Used by `settings` for every process and by the `levelset` command.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

WRONG_USAGE: Final = 2


class UsageParser(argparse.ArgumentParser):
    """An ArgumentParser that never abbreviates and says in one line what is wrong."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})
        self._given: Sequence[str] = ()

    def parse_known_args(  # type: ignore[override]  # the overloads of typeshed tell no more
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse as ever, and remember the words for the complaint."""
        self._given = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End the process with one line that names the fault and where the right way stands."""
        if "arguments are required" in message and (unknown := self._unknown_flags()):
            message = f"unrecognized arguments: {' '.join(unknown)}"
        line = " ".join(message.split())
        self.exit(
            WRONG_USAGE, f"{self.prog}: {line}; `{self.prog} --help` tells what is expected\n"
        )

    def _unknown_flags(self) -> list[str]:
        flags = [word.partition("=")[0] for word in self._given if word.startswith("-")]
        return [flag for flag in flags if flag not in self._option_string_actions]

"""Flags in kubectl's form, which argparse lacks: `--watch`, `--watch=false`, `--dry-run=server`.

A value only ever stands behind "=", so that `--dry-run web` leaves `web` alone.
"""

import argparse
from collections.abc import Sequence
from typing import Final

_TRUE: Final = ("true", "1", "t")
_FALSE: Final = ("false", "0", "f")


def add_switch(
    parser: argparse.ArgumentParser, *flags: str, default: bool | None, help_: str
) -> None:
    """Add a flag that is on when it is given, and off with "=false"."""
    dest = flags[0].lstrip("-").replace("-", "_")
    parser.add_argument(*flags, dest=dest, action="store_true", default=default, help=help_)
    for word, value in [(word, True) for word in _TRUE] + [(word, False) for word in _FALSE]:
        spelled = [f"{flag}={word}" for flag in flags]
        _silent(parser, spelled, dest, value=value)


def add_choice(
    parser: argparse.ArgumentParser, flag: str, *, choices: Sequence[str], bare: str, help_: str
) -> None:
    """Add a flag that takes one of these behind "=", and means `bare` without; default: the first."""
    dest = flag.lstrip("-").replace("-", "_")
    parser.add_argument(
        flag, dest=dest, action="store_const", const=bare, default=choices[0], help=help_
    )
    for choice in choices:
        _silent(parser, [f"{flag}={choice}"], dest, value=choice)


def _silent(
    parser: argparse.ArgumentParser, spelled: list[str], dest: str, *, value: object
) -> None:
    # A suppressed default, since argparse would else take the last one's None over the first's.
    parser.add_argument(
        *spelled,
        dest=dest,
        action="store_const",
        const=value,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )

"""Which Rollouts the words of a command line name: NAME, ro/NAME, `rollout NAME`, several. Pure."""

import argparse
from collections.abc import Sequence
from typing import Final

from workloads import names

SHOWN: Final = f"rollout.{names.GROUP}"
"""How messages call the kind, as kubectl calls its own: `deployment.apps`."""
RESOURCE: Final = str(names.ROLLOUTS)
_TYPES: Final = frozenset(
    {"ro", "rollout", "rollouts", SHOWN, RESOURCE, f"rollouts.{names.VERSION}.{names.GROUP}"}
)


def add_target(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the words that name one Rollout, or several, and the namespace they are in."""
    parser.add_argument(
        "target",
        nargs="+",
        type=_word,
        metavar="ROLLOUT",
        help="NAME, rollout/NAME or ro/NAME" + ("; several are taken one by one" * several),
    )
    add_namespace(parser)


def add_namespace(parser: argparse.ArgumentParser) -> None:
    """Add -n."""
    parser.add_argument("-n", "--namespace", help="(default: that of the kubeconfig's context)")


def names_of(words: Sequence[str]) -> list[str]:
    """Return the names, each once; a type may stand alone before them, as with kubectl."""
    rest = words[1:] if len(words) > 1 and words[0] in _TYPES else words
    return list(dict.fromkeys(word.rpartition("/")[2] for word in rest))


def name_of(parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """Return the one name; more are wrong usage."""
    found = names_of(words)
    if len(found) > 1:
        parser.error(f"expected one Rollout, found {len(found)}: {' '.join(found)}")
    return found[0]


def one(word: str) -> str:
    """Read one word that names a Rollout, for argparse."""
    return _word(word).rpartition("/")[2]


def _word(word: str) -> str:
    kind, slash, name = word.rpartition("/")
    if not name or (slash and kind not in _TYPES):
        raise argparse.ArgumentTypeError(
            f"expected NAME, rollout/NAME or ro/NAME, found {word!r};"
            " for the built-in kinds there is kubectl itself"
        )
    return word

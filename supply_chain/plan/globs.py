"""Image globs, matched in time proportional to pattern times name.

`*` is any run of characters inside one path segment, `**` any run across segments.
A translation to `re` would backtrack: a pattern with many stars, written by a tenant, could
hold the interpreter for minutes, and with it the webhook of the whole cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

MAX_GLOB_LENGTH: Final = 512

_ONE_SEGMENT: Final = "*"
_ALL_SEGMENTS: Final = "**"


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern over `host/repository`, without tag or digest: those are the user's to choose."""

    pattern: str
    _prefix: str = field(init=False, repr=False, compare=False)
    _rest: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Cut off what stands before the first star: most policies are told apart by it."""
        prefix, _, _ = self.pattern.partition(_ONE_SEGMENT)
        object.__setattr__(self, "_prefix", prefix)
        object.__setattr__(self, "_rest", tuple(_tokens(self.pattern[len(prefix) :])))

    def matches(self, name: str) -> bool:
        """Tell whether the whole name fits the pattern."""
        if not name.startswith(self._prefix):
            return False
        states = _skip_stars({0}, self._rest)
        for character in name[len(self._prefix) :]:
            states = _skip_stars(_step(states, self._rest, character), self._rest)
            if not states:
                return False
        return len(self._rest) in states


def _tokens(pattern: str) -> Iterator[str]:
    position = 0
    while position < len(pattern):
        token = _ALL_SEGMENTS if pattern.startswith(_ALL_SEGMENTS, position) else pattern[position]
        yield token
        position += len(token)


def _step(states: set[int], tokens: tuple[str, ...], character: str) -> set[int]:
    following: set[int] = set()
    for state in states:
        if state == len(tokens):
            continue
        token = tokens[state]
        if token == _ALL_SEGMENTS or (token == _ONE_SEGMENT and character != "/"):
            following.add(state)
        elif token == character:
            following.add(state + 1)
    return following


def _skip_stars(states: set[int], tokens: tuple[str, ...]) -> set[int]:
    """Add the states that are reached by letting stars match nothing."""
    reached = set(states)
    for state in states:
        position = state
        while position < len(tokens) and tokens[position] in {_ONE_SEGMENT, _ALL_SEGMENTS}:
            position += 1
            reached.add(position)
    return reached

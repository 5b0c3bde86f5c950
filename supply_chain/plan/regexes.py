r"""Regular expressions for identities, always anchored, matched in linear time.

A policy's author may be a tenant, and `re` backtracks while it holds the interpreter's lock, so
`(a+)+$` would stop the webhook of the whole cluster. This is a Thompson automaton instead: it has
literals, `.`, classes, `\d \w \s`, groups, `|` and `* + ? {m,n}`; what it lacks (look-around,
back-references, flags) is refused when the policy is parsed. `^` and `$` are allowed at the ends.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

MAX_PATTERN_LENGTH: Final = 512
MAX_SUBJECT_LENGTH: Final = 1024
_MAX_REPEAT: Final = 64
_MAX_STATES: Final = 1024
_MAX_DEPTH: Final = 16

_DIGITS = frozenset("0123456789")
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SPACE = frozenset(" \t\n\r\f\v")
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_SPECIAL = frozenset("\\.[]{}()*+?|^$")


class BadRegexError(ValueError):
    """A pattern outside the dialect; the message tells what and where."""


@dataclass(frozen=True, slots=True)
class _Set:
    """The characters that one step accepts."""

    characters: frozenset[str]
    negated: bool = False

    def accepts(self, character: str) -> bool:
        return (character in self.characters) is not self.negated


_ANY = _Set(frozenset("\n"), negated=True)


@dataclass(slots=True)
class _Program:
    """States by number: a set to accept and then go to the next, or places to go to at once."""

    accepts: list[_Set | None] = field(default_factory=list)
    jumps: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, accepts: _Set | None, jumps: tuple[int, ...] = ()) -> int:
        if len(self.accepts) >= _MAX_STATES:
            raise BadRegexError(f"the pattern grows beyond {_MAX_STATES} states: write it shorter")
        self.accepts.append(accepts)
        self.jumps.append(jumps)
        return len(self.accepts) - 1


_Emit = Callable[[_Program, int], int]
"""Adds the states of a part that continue at the given state; returns where the part begins."""


class Regex:
    """A compiled pattern; build it once, when the policy is parsed."""

    def __init__(self, pattern: str) -> None:
        if not 0 < len(pattern) <= MAX_PATTERN_LENGTH:
            raise BadRegexError(f"a pattern has 1 to {MAX_PATTERN_LENGTH} characters")
        self.pattern = pattern
        self._program = _Program()
        self._end = self._program.add(None)
        self._start = _Parser(pattern).parse()(self._program, self._end)

    def matches(self, subject: str) -> bool:
        """Tell whether the whole subject fits; longer ones than the cap never do."""
        if len(subject) > MAX_SUBJECT_LENGTH:
            return False
        states = self._closure({self._start})
        for character in subject:
            moved = {
                target
                for state in states
                if (accepted := self._program.accepts[state]) and accepted.accepts(character)
                for target in self._program.jumps[state]
            }
            states = self._closure(moved)
            if not states:
                return False
        return self._end in states

    def _closure(self, states: set[int]) -> set[int]:
        reached, waiting = set(states), list(states)
        while waiting:
            state = waiting.pop()
            if self._program.accepts[state] is None:
                fresh = [target for target in self._program.jumps[state] if target not in reached]
                reached.update(fresh)
                waiting.extend(fresh)
        return reached


class _Parser:
    """Recursive descent over the pattern."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern.removeprefix("^")
        if self._text.endswith("$") and not self._text.endswith("\\$"):
            self._text = self._text[:-1]
        self._at = 0
        self._depth = 0

    def parse(self) -> _Emit:
        emit = self._alternatives()
        if self._at < len(self._text):
            raise self._bad("an unmatched )")
        return emit

    def _alternatives(self) -> _Emit:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        if len(branches) == 1:
            return branches[0]
        return lambda program, then: program.add(
            None, tuple(branch(program, then) for branch in branches)
        )

    def _sequence(self) -> _Emit:
        parts: list[_Emit] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._atom()))

        def emit(program: _Program, then: int) -> int:
            for part in reversed(parts):
                then = part(program, then)
            return then

        return emit

    def _repeated(self, atom: _Emit) -> _Emit:
        bounds = self._bounds()
        if bounds is None:
            return atom
        if self._peek() in {"*", "+", "?", "{"}:
            raise self._bad("a repeat of a repeat (write a group)")
        return _repeat(atom, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if (sign := self._peek()) in simple:
            self._at += 1
            return simple[sign]
        if not self._take("{"):
            return None
        closing = self._text.find("}", self._at)
        low, comma, high = self._text[self._at : max(closing, self._at)].partition(",")
        if not low.isascii() or not low.isdigit() or (high and not high.isdigit()):
            raise self._bad("a repeat that is not {m}, {m,} or {m,n}")
        self._at = closing + 1
        least = int(low)
        most = (int(high) if high else None) if comma else least
        if max(least, most or 0) > _MAX_REPEAT or (most is not None and most < least):
            raise self._bad(f"a repeat outside 0 to {_MAX_REPEAT}, or turned round")
        return least, most

    def _atom(self) -> _Emit:
        character = self._text[self._at]
        self._at += 1
        match character:
            case "(":
                return self._group()
            case "[":
                return _one(self._bracket())
            case ".":
                return _one(_ANY)
            case "\\":
                return _one(_Set(self._escaped()))
            case "*" | "+" | "?" | "{" | "}" | "]" | "^" | "$":
                raise self._bad(f"{character!r} with nothing to act on (write \\{character})")
            case _:
                return _one(_Set(frozenset(character)))

    def _group(self) -> _Emit:
        if self._peek() == "?" and not self._text.startswith("?:", self._at):
            raise self._bad("look-around, names and flags are not supported: (?...)")
        self._at += 2 if self._peek() == "?" else 0
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._bad(f"groups deeper than {_MAX_DEPTH}")
        emit = self._alternatives()
        if not self._take(")"):
            raise self._bad("an unclosed (")
        self._depth -= 1
        return emit

    def _escaped(self) -> frozenset[str]:
        if (character := self._peek()) is None:
            raise self._bad("a backslash at the end")
        self._at += 1
        if character in _CLASSES:
            return _CLASSES[character]
        if character in _SPECIAL or not character.isalnum():
            return frozenset(character)
        raise self._bad(f"the escape \\{character} is not supported")

    def _bracket(self) -> _Set:
        negated = self._take("^")
        members: set[str] = set()
        first = True
        while first or self._peek() != "]":
            first = False
            low = self._member()
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in {"]", ""}:
                self._at += 1
                low = self._range(low, self._member())
            members |= low
        self._at += 1
        return _Set(frozenset(members), negated=negated)

    def _range(self, low: frozenset[str], high: frozenset[str]) -> frozenset[str]:
        if len(low) != 1 or len(high) != 1 or min(low) > min(high):
            raise self._bad("a range that is not low-high")
        first, last = ord(min(low)), ord(min(high))
        if last - first > 0xFFFF:
            raise self._bad("a range of more than 65,536 characters")
        return frozenset(map(chr, range(first, last + 1)))

    def _member(self) -> frozenset[str]:
        character = self._peek()
        if character is None:
            raise self._bad("an unclosed [")
        self._at += 1
        return self._escaped() if character == "\\" else frozenset(character)

    def _peek(self) -> str | None:
        return self._text[self._at] if self._at < len(self._text) else None

    def _take(self, character: str) -> bool:
        if self._peek() == character:
            self._at += 1
            return True
        return False

    def _bad(self, what: str) -> BadRegexError:
        return BadRegexError(f"{what}, at character {self._at} of {self._text!r}")


def _one(accepted: _Set) -> _Emit:
    return lambda program, then: program.add(accepted, (then,))


def _repeat(atom: _Emit, least: int, most: int | None) -> _Emit:
    def emit(program: _Program, then: int) -> int:
        if most is None:
            loop = program.add(None)
            program.jumps[loop] = (atom(program, loop), then)
            then = loop
        for _ in range((most or least) - least):
            then = program.add(None, (atom(program, then), then))
        for _ in range(least):
            then = atom(program, then)
        return then

    return emit

"""Manifests as people mean them: a strict YAML reader that yields plain JSON values.

`yes` and `on` stay text, a duplicate key is an error, an alias bomb is refused before it grows, and
dates stay text. Integers keep the leading-zero octals of YAML 1.1, since `defaultMode: 0644` is in
half of all manifests and Kubernetes' own tools read it as octal.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from gitops_agent.errors import LimitExceeded, RenderFailed

_MAX_DEPTH: Final = 100
_MAX_VALUES: Final = 250_000
_INT: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_OCTAL: Final = re.compile(r"([-+]?)0o?([0-7]+)")
_HEX: Final = re.compile(r"([-+]?)0x([0-9a-fA-F]+)")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_CONSTANTS: Final[dict[str, bool | None]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_STR_TAG: Final = "tag:yaml.org,2002:str"
_MAP_OR_SEQ_TAG: Final = "!collection"
_PLAIN_TAG: Final = "!plain"
_MERGE_KEY: Final = "<<"


def load_documents(data: bytes, *, source: str) -> Iterator[Any]:
    """Yield the value of each document that is not empty; errors name the source and the line."""
    try:
        for node in yaml.compose_all(data, Loader=_Loader):
            value = _Reader(source).value(node)
            if value is not None:
                yield value
    except yaml.MarkedYAMLError as error:
        raise RenderFailed(_describe(source, error.problem, error.problem_mark)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RenderFailed(f"{source}: is no YAML: {_reason(error)}") from error
    except RecursionError as error:
        raise LimitExceeded(f"{source}: nested deeper than {_MAX_DEPTH} levels") from error


class _Loader(yaml.CSafeLoader):
    """libyaml's parser without any implicit typing: that is done below, by rules of our own."""

    def resolve(self, kind: type[yaml.Node], _value: Any, implicit: Any) -> str:
        """Mark a scalar that has neither tag nor quotes, so that its text decides its type."""
        if kind is yaml.ScalarNode and implicit[0]:
            return _PLAIN_TAG
        return _STR_TAG if kind is yaml.ScalarNode else _MAP_OR_SEQ_TAG


class _Reader:
    """Turns the nodes of one document into values, counting as it goes."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._count = 0

    def value(self, node: yaml.Node, depth: int = 0) -> Any:
        self._count += 1
        if self._count > _MAX_VALUES or depth > _MAX_DEPTH:
            # Aliases are expanded here, so a bomb or a circle ends here too.
            raise LimitExceeded(
                f"{self._source}: more than {_MAX_VALUES} values or {_MAX_DEPTH} levels "
                "(aliases expanded)"
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key == _MERGE_KEY and key_node.tag == _PLAIN_TAG:
                merged = self._merged(value_node, depth) | merged
            elif key in own:
                raise self._error(key_node, f"the key {key!r} is there twice")
            else:
                own[key] = self.value(value_node, depth + 1)
        return merged | own

    def _merged(self, node: yaml.Node, depth: int) -> dict[str, Any]:
        value = self.value(node, depth + 1)
        parts = value if isinstance(value, list) else [value]
        result: dict[str, Any] = {}
        for part in reversed(parts):  # the first one wins
            if not isinstance(part, dict):
                raise self._error(node, "expected a mapping to merge")
            result |= part
        return result

    def _key(self, node: Any) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, "expected a text as key")
        key: str = node.value
        return key

    def _scalar(self, node: Any) -> Any:
        text: str = node.value
        if node.tag != _PLAIN_TAG:
            return self._tagged(node, text)
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        number = _number(text)
        if not _fits_json(number):
            raise self._error(node, "a number that JSON cannot hold")
        return text if number is None else number

    def _tagged(self, node: Any, text: str) -> str:
        if node.tag != _STR_TAG:
            raise self._error(node, f"the tag {node.tag!r} is not supported")
        return text

    def _error(self, node: Any, problem: str) -> RenderFailed:
        return RenderFailed(_describe(self._source, problem, node.start_mark))


def _fits_json(number: object) -> bool:
    if isinstance(number, int):
        return -(2**63) <= number < 2**64
    return not isinstance(number, float) or math.isfinite(number)


def _number(text: str) -> int | float | None:
    if len(text) > 64:
        return None
    if _INT.fullmatch(text):
        return int(text)
    for pattern, base in ((_OCTAL, 8), (_HEX, 16)):
        if matched := pattern.fullmatch(text):
            return int(matched[1] + matched[2], base)
    if _FLOAT.fullmatch(text) and any(char.isdigit() for char in text):
        return float(text)
    return None


def _describe(source: str, problem: object, mark: Any) -> str:
    where = source if mark is None else f"{source}:{mark.line + 1}"
    return f"{where}: {problem or 'cannot be read'}"


def _reason(error: Exception) -> str:
    return getattr(error, "reason", None) or type(error).__name__

"""Label selectors: read, checked, matched, and written as kubectl writes them.

PodSets, Rollouts, Services and policies all select by labels; the raw mapping is parsed once.
An absent selector matches nothing, an empty one matches everything, as in Kubernetes.
Pure.
"""

# ruff: noqa: A005 - only reachable as kube_runtime.selectors, so nothing is shadowed

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, assert_never

from kube_runtime.errors import LevelsetError

_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DNS_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
)
_MAX_NAME: Final = 63
_MAX_PREFIX: Final = 253
_FIELDS: Final = frozenset({"matchLabels", "matchExpressions"})
_EXPRESSION_FIELDS: Final = frozenset({"key", "operator", "values"})


class InvalidSelector(LevelsetError):  # noqa: N818 - as the API's reason
    """The selector cannot be used; the message names the field, what is expected and found."""

    reason = "InvalidSelector"


class Operator(Enum):
    """How a requirement looks at its key; the values are those of matchExpressions."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label; values are sorted and without duplicates."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    is_equality: bool = False  # from matchLabels: written key=value, not key in (value)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether these labels meet the requirement; NotIn is met by an absent label."""
        match self.operator:
            case Operator.IN:
                return labels.get(self.key) in self.values
            case Operator.NOT_IN:
                return labels.get(self.key) not in self.values
            case Operator.EXISTS:
                return self.key in labels
            case Operator.DOES_NOT_EXIST:
                return self.key not in labels
            case _:
                assert_never(self.operator)

    def to_string(self) -> str:
        """Write the requirement as kubectl does."""
        match self.operator:
            case Operator.IN if self.is_equality:
                return f"{self.key}={self.values[0]}"
            case Operator.IN:
                return f"{self.key} in ({','.join(self.values)})"
            case Operator.NOT_IN:
                return f"{self.key} notin ({','.join(self.values)})"
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case _:
                assert_never(self.operator)


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All of the requirements together, sorted by key."""

    requirements: tuple[Requirement, ...] = ()
    matches_nothing: bool = False

    @classmethod
    def parse(cls, raw: object, *, field: str = "spec.selector") -> "LabelSelector":
        """Read a metav1.LabelSelector; raises InvalidSelector with the path of the bad field."""
        if raw is None:
            return NOTHING
        selector = _mapping(raw, field)
        _refuse_unknown(selector, _FIELDS, field)
        requirements = [
            *_parse_labels(selector.get("matchLabels"), f"{field}.matchLabels"),
            *_parse_expressions(selector.get("matchExpressions"), f"{field}.matchExpressions"),
        ]
        return cls(tuple(sorted(requirements, key=_order)))

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> "LabelSelector":
        """Select what has all of these labels."""
        return cls.parse({"matchLabels": dict(labels)}, field="labels")

    @property
    def is_empty(self) -> bool:
        """Whether it selects everything."""
        return not self.requirements and not self.matches_nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether an object with these labels is selected."""
        if self.matches_nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def to_string(self) -> str:
        """Write the selector as `kubectl -l` and status.selector want it."""
        return ",".join(requirement.to_string() for requirement in self.requirements)


NOTHING: Final = LabelSelector(matches_nothing=True)


def _order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return (requirement.key, requirement.operator.value, requirement.values)


def _parse_labels(raw: object, field: str) -> Iterable[Requirement]:
    for key, value in _mapping(raw or {}, field).items():
        _check_key(key, field)
        _check_value(value, f"{field}[{key}]")
        yield Requirement(key, Operator.IN, (value,), is_equality=True)


def _parse_expressions(raw: object, field: str) -> Iterable[Requirement]:
    if raw is None:
        return
    if not isinstance(raw, list):
        raise InvalidSelector(f"{field}: expected a list, found {type(raw).__name__}")
    for index, expression in enumerate(raw):
        yield _parse_expression(expression, f"{field}[{index}]")


def _parse_expression(raw: object, field: str) -> Requirement:
    expression = _mapping(raw, field)
    _refuse_unknown(expression, _EXPRESSION_FIELDS, field)
    key = expression.get("key")
    _check_key(key, f"{field}.key")
    operator = _parse_operator(expression.get("operator"), f"{field}.operator")
    values = _parse_values(expression.get("values"), operator, f"{field}.values")
    return Requirement(str(key), operator, values)


def _parse_operator(raw: object, field: str) -> Operator:
    try:
        return Operator(raw)
    except ValueError:
        expected = ", ".join(operator.value for operator in Operator)
        raise InvalidSelector(f"{field}: expected one of {expected}, found {raw!r}") from None


def _parse_values(raw: object, operator: Operator, field: str) -> tuple[str, ...]:
    values = [] if raw is None else raw
    if not isinstance(values, list):
        raise InvalidSelector(f"{field}: expected a list, found {type(raw).__name__}")
    for index, value in enumerate(values):
        _check_value(value, f"{field}[{index}]")
    wants_values = operator in {Operator.IN, Operator.NOT_IN}
    if wants_values and not values:
        raise InvalidSelector(f"{field}: {operator.value} needs at least one value, found none")
    if not wants_values and values:
        raise InvalidSelector(f"{field}: {operator.value} takes no values, found {len(values)}")
    return tuple(sorted(set(values)))


def _check_key(key: object, field: str) -> None:
    prefix, slash, name = str(key).rpartition("/")
    is_valid = (
        isinstance(key, str)
        and len(name) <= _MAX_NAME
        and _NAME.fullmatch(name) is not None
        and (not slash or (len(prefix) <= _MAX_PREFIX and bool(_DNS_SUBDOMAIN.fullmatch(prefix))))
    )
    if not is_valid:
        raise InvalidSelector(f"{field}: expected a label key ([prefix/]name), found {key!r}")


def _check_value(value: object, field: str) -> None:
    is_valid = isinstance(value, str) and (
        value == "" or (len(value) <= _MAX_NAME and _NAME.fullmatch(value) is not None)
    )
    if not is_valid:
        raise InvalidSelector(
            f"{field}: expected a label value (at most {_MAX_NAME} of A-Z a-z 0-9 - _ .), "
            f"found {value!r}"
        )


def _mapping(raw: object, field: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise InvalidSelector(f"{field}: expected a mapping, found {type(raw).__name__}")
    return raw


def _refuse_unknown(raw: Mapping[str, Any], known: frozenset[str], field: str) -> None:
    unknown = sorted(str(name) for name in raw if name not in known)
    if unknown:
        raise InvalidSelector(
            f"{field}: unknown field {unknown[0]!r}; expected {', '.join(sorted(known))}"
        )

"""What a settings class is made of: its fields flattened, their help, and the class built again.

Used by kube_runtime.settings, which says what a settings class looks like. Reads the source of the
class once, since Python throws the docstrings under fields away.
"""

import ast
import dataclasses
import inspect
import itertools
import textwrap
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from kube_runtime import settings_types

T = TypeVar("T")

# For `field(default=…, metadata=SECRET)`: --print-config and error messages hide the value.
SECRET: Final[Mapping[str, object]] = {"secret": True}
# For a field that the program sets and the user cannot: no flag, no variable, no key.
FIXED: Final[Mapping[str, object]] = {"fixed": True}


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """One flattened field of a settings class."""

    name: str
    type: Any
    default: object
    help: str
    is_secret: bool

    @property
    def flag(self) -> str:
        """The flag, such as --lease-seconds."""
        return "--" + self.name.replace("_", "-")

    @property
    def is_seconds(self) -> bool:
        """Whether the value is a duration, by its name."""
        return self.name.endswith("_seconds")

    def parse(self, raw: object) -> object:
        """Read a value; raises ValueError without the value of a secret."""
        try:
            return settings_types.parse_value(raw, self.type, is_seconds=self.is_seconds)
        except ValueError as error:
            message = "the value cannot be read" if self.is_secret else str(error)
            raise ValueError(message) from None


def settings_of(cls: type[Any]) -> list[Setting]:
    """Flatten the fields of a settings class; a name that occurs twice is a programming error."""
    settings = list(_fields(cls))
    names = [setting.name for setting in settings]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TypeError(f"{cls.__name__}: the settings {', '.join(twice)} occur twice")
    return settings


def _fields(cls: type[Any], defaults: object = None) -> Iterator[Setting]:
    """Walk the fields; the defaults of an embedded class are those of the instance in its place."""
    hints, docs = typing.get_type_hints(cls), _field_docs(cls)
    for field in dataclasses.fields(cls):
        type_ = hints[field.name]
        default = _default_of(field, defaults)
        if _is_settings_class(type_):
            yield from _fields(type_, default)
        elif not field.metadata.get("fixed"):
            yield _setting(field, type_, default, docs.get(field.name, ""))


def _default_of(field: dataclasses.Field[Any], defaults: object) -> object:
    if defaults is not None and defaults is not dataclasses.MISSING:
        return getattr(defaults, field.name)
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _setting(field: dataclasses.Field[Any], type_: Any, default: object, docs: str) -> Setting:
    return Setting(
        name=field.name,
        type=type_,
        default=default,
        help=docs,
        is_secret=bool(field.metadata.get("secret")),
    )


def _is_settings_class(type_: Any) -> bool:
    return isinstance(type_, type) and dataclasses.is_dataclass(type_)


def values_of(settings: Any) -> Iterator[tuple[str, object]]:
    """Walk the values that a user can set, flattened."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if _is_settings_class(type(value)):
            yield from values_of(value)
        elif not field.metadata.get("fixed"):
            yield field.name, value


def _field_docs(cls: type[Any]) -> dict[str, str]:
    """Read the docstring under each field, which Python itself throws away."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if dataclasses.is_dataclass(base):
            docs |= _docs_in_source(base)
    return docs


def _docs_in_source(cls: type[Any]) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, SyntaxError):
        return {}  # no source at hand (a frozen program): the flags work, without help
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    docs = {}
    for statement, following in itertools.pairwise(body):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                docs[name] = inspect.cleandoc(text).replace("\n", " ")
            case _:
                pass
    return docs


def build(cls: type[T], values: Mapping[str, object], defaults: object = None) -> T:
    """Build the class and those embedded in it; their own checks raise ValueError."""
    hints = typing.get_type_hints(cls)
    arguments: dict[str, object] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # T is a dataclass by contract
        default = _default_of(field, defaults)
        if _is_settings_class(hints[field.name]):
            arguments[field.name] = build(hints[field.name], values, default)
        else:
            arguments[field.name] = values.get(field.name, default)
    return cls(**arguments)

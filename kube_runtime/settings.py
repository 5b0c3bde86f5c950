"""Settings of a controller process: one frozen dataclass, read once, passed in.

Order: flag, then environment, then file, then the default in the class. The flag, the variable
and the key in the file all derive from the field's name; the docstring under a field is its help.
A field that is itself a dataclass lends its fields to the outer one. Unknown keys are errors.
A usage error ends the process with exit code 2 and one line; --print-config prints and exits 0.
"""

import argparse
import ast
import dataclasses
import inspect
import itertools
import os
import re
import textwrap
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from kube_runtime import settings_types

T = TypeVar("T")

# For `field(default=…, metadata=SECRET)`: --print-config and error messages hide the value.
SECRET: Final[Mapping[str, object]] = {"secret": True}
# For a field that the program sets and the user cannot: no flag, no variable, no key.
FIXED: Final[Mapping[str, object]] = {"fixed": True}
_MASK: Final = "(hidden)"
_SERVICE_LINK_NAME: Final = re.compile(
    r"(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$"
)
_SERVICE_LINK_VALUE: Final = re.compile(r"(tcp|udp|sctp)://")
_MAX_FILE_BYTES: Final = 1024 * 1024


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


class _Usage(Exception):  # noqa: N818 - becomes the parser's own error
    """A value that cannot be used, with the place where it came from."""


def load_settings(
    cls: type[T],
    argv: Sequence[str] | None,
    *,
    env_prefix: str,
    file: Path | None = None,
    prog: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> T:
    """Read the settings of this class; usage errors exit with code 2, --print-config with 0.

    env_prefix is as in "LEVELSET_WORKLOADS_"; file is the default of --config (absent is fine).
    """
    settings = settings_of(cls)
    parser = _parser(cls, settings, env_prefix=env_prefix, prog=prog)
    arguments = vars(parser.parse_args(argv))
    variables = os.environ if environ is None else environ
    try:
        path = _config_path(arguments["config"], variables.get(f"{env_prefix}CONFIG"), file)
        values = {setting.name: setting.default for setting in settings}
        values |= _from_file(settings, path)
        values |= _from_environment(settings, variables, env_prefix)
        values |= _from_flags(settings, arguments)
        result = _build(cls, _complete(settings, values))
    except _Usage as error:
        parser.error(str(error))
    if arguments["print_config"]:
        print(print_config(result), end="")  # noqa: T201 - what the flag is for
        parser.exit(0)
    return result


def print_config(settings: object) -> str:
    """Write the settings as YAML that --config would read, secrets hidden."""
    secrets = {setting.name for setting in settings_of(type(settings)) if setting.is_secret}
    values = {
        name: _MASK if name in secrets and value else _plain(value)
        for name, value in _values(settings)
    }
    return yaml.safe_dump(values, sort_keys=False)


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


def _values(settings: Any) -> Iterator[tuple[str, object]]:
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if _is_settings_class(type(value)):
            yield from _values(value)
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


def _parser(
    cls: type[Any], settings: Sequence[Setting], *, env_prefix: str, prog: str | None
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description=inspect.getdoc(cls),
        epilog=f"Each flag is also a variable ({env_prefix}…) and a key of the --config file.",
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("--config", metavar="PATH", default=None, help="a YAML file of settings")
    parser.add_argument(
        "--print-config", action="store_true", default=False, help="print the settings and exit"
    )
    for setting in settings:
        _add_flag(parser, setting)
    return parser


def _add_flag(parser: argparse.ArgumentParser, setting: Setting) -> None:
    help_ = f"{setting.help} {_default_note(setting)}".strip().replace("%", "%%")
    if setting.type is bool:
        parser.add_argument(
            setting.flag, dest=setting.name, action=argparse.BooleanOptionalAction, help=help_
        )
        return
    parser.add_argument(
        setting.flag,
        dest=setting.name,
        metavar=settings_types.metavar(setting.type, is_seconds=setting.is_seconds),
        help=help_,
    )


def _default_note(setting: Setting) -> str:
    if setting.default is dataclasses.MISSING:
        return "(required)"
    if setting.is_secret or setting.default in (None, "", ()):
        return ""
    return f"(default: {_text(_plain(setting.default))})"


def _config_path(flag: str | None, variable: str | None, default: Path | None) -> Path | None:
    """Choose the file; one that was asked for must exist."""
    asked = flag or variable
    if asked is None:
        return default if default is not None and default.is_file() else None
    path = Path(asked).expanduser()
    if not path.is_file():
        raise _Usage(f"--config {asked}: expected a YAML file, found none; check the path")
    return path


def _from_file(settings: Sequence[Setting], path: Path | None) -> dict[str, object]:
    if path is None:
        return {}
    raw = _read_yaml(path)
    by_name = {setting.name: setting for setting in settings}
    values = {}
    for key, value in raw.items():
        setting = by_name.get(str(key).replace("-", "_"))
        if setting is None:
            raise _Usage(f"{path}: unknown key {key!r}; --help lists the known ones")
        values[setting.name] = _parse(setting, value, f"{path}: {key}")
    return values


def _read_yaml(path: Path) -> Mapping[str, object]:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise _Usage(f"{path}: expected at most {_MAX_FILE_BYTES} bytes of settings")
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        first_line = str(error).splitlines()[0]
        raise _Usage(f"{path}: expected a readable YAML file: {first_line}") from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise _Usage(f"{path}: expected a mapping of settings, found {type(raw).__name__}")
    return raw


def _from_environment(
    settings: Sequence[Setting], variables: Mapping[str, str], prefix: str
) -> dict[str, object]:
    by_variable = {prefix + setting.name.upper(): setting for setting in settings}
    values = {}
    for name, text in variables.items():
        if not name.startswith(prefix) or name == f"{prefix}CONFIG":
            continue
        setting = by_variable.get(name)
        if _is_service_link(name, text, is_known=setting is not None):
            continue
        if setting is None:
            raise _Usage(f"unknown variable {name}; --help lists the settings")
        values[setting.name] = _parse(setting, text, name)
    return values


def _is_service_link(name: str, text: str, *, is_known: bool) -> bool:
    """Kubernetes puts variables of every Service into a pod, and ours begin with our prefix."""
    if _SERVICE_LINK_VALUE.match(text):
        return _SERVICE_LINK_NAME.search(name) is not None
    return not is_known and _SERVICE_LINK_NAME.search(name) is not None


def _from_flags(settings: Sequence[Setting], arguments: Mapping[str, Any]) -> dict[str, object]:
    return {
        setting.name: _parse(setting, arguments[setting.name], setting.flag)
        for setting in settings
        if setting.name in arguments
    }


def _parse(setting: Setting, raw: object, where: str) -> object:
    try:
        return setting.parse(raw)
    except ValueError as error:
        raise _Usage(f"{where}: {error}") from error


def _complete(settings: Sequence[Setting], values: dict[str, object]) -> dict[str, object]:
    for setting in settings:
        if values[setting.name] is dataclasses.MISSING:
            raise _Usage(f"{setting.flag} is required")
    return values


def _build(cls: type[T], values: Mapping[str, object], defaults: object = None) -> T:
    hints = typing.get_type_hints(cls)
    arguments: dict[str, object] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # T is a dataclass by contract
        default = _default_of(field, defaults)
        if _is_settings_class(hints[field.name]):
            arguments[field.name] = _build(hints[field.name], values, default)
        else:
            arguments[field.name] = values.get(field.name, default)
    try:
        return cls(**arguments)
    except ValueError as error:  # the class's own check of how its fields go together
        raise _Usage(str(error)) from error


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _text(value: object) -> str:
    return ",".join(str(item) for item in value) if isinstance(value, list) else str(value)

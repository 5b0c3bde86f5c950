"""Settings of a controller process: one frozen dataclass, read once, passed in.

Order: flag, then environment, then file, then the default in the class. The flag, the variable
and the key in the file all derive from the field's name; the docstring under a field is its help.
A field that is itself a dataclass lends its fields to the outer one. Unknown keys are errors.
A usage error ends the process with exit code 2 and one line; --print-config prints and exits 0.
"""

import argparse
import dataclasses
import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from kube_runtime import settings_sources, settings_types
from kube_runtime.settings_fields import FIXED, SECRET, Setting, build, settings_of, values_of
from kube_runtime.settings_sources import UsageFault
from kube_runtime.usage import UsageParser

__all__ = ["FIXED", "SECRET", "load_settings", "print_config", "require_positive", "settings_of"]

T = TypeVar("T")

_MASK: Final = "(hidden)"


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
        path = settings_sources.config_path(
            arguments["config"], variables.get(f"{env_prefix}CONFIG"), file
        )
        values = {setting.name: setting.default for setting in settings}
        values |= settings_sources.from_file(settings, path)
        values |= settings_sources.from_environment(settings, variables, env_prefix)
        values |= settings_sources.from_flags(settings, arguments)
        result = _built(cls, _complete(settings, values))
    except UsageFault as error:
        parser.error(str(error))
    if arguments["print_config"]:
        print(print_config(result), end="")  # noqa: T201 - what the flag is for
        parser.exit(0)
    return result


def require_positive(settings: object, *names: str) -> None:
    """Raise ValueError, in the words of its flag, for the first of these that is 0 or less."""
    for name in names:
        value = getattr(settings, name)
        if value <= 0:
            flag = "--" + name.replace("_", "-")
            raise ValueError(f"{flag}: expected more than 0, found {value:g}")


def print_config(settings: object) -> str:
    """Write the settings as YAML that --config would read, secrets hidden."""
    secrets = {setting.name for setting in settings_of(type(settings)) if setting.is_secret}
    values = {
        name: _MASK if name in secrets and value else _plain(value)
        for name, value in values_of(settings)
    }
    return yaml.safe_dump(values, sort_keys=False)


def _parser(
    cls: type[Any], settings: Sequence[Setting], *, env_prefix: str, prog: str | None
) -> argparse.ArgumentParser:
    parser = UsageParser(
        prog=prog,
        description=inspect.getdoc(cls),
        epilog=f"Each flag is also a variable ({env_prefix}…) and a key of the --config file.",
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


def _complete(settings: Sequence[Setting], values: dict[str, object]) -> dict[str, object]:
    for setting in settings:
        if values[setting.name] is dataclasses.MISSING:
            raise UsageFault(f"{setting.flag} is required")
    return values


def _built(cls: type[T], values: Mapping[str, object]) -> T:
    try:
        return build(cls, values)
    except ValueError as error:  # the class's own check of how its fields go together
        raise UsageFault(str(error)) from error


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def _text(value: object) -> str:
    return ",".join(str(item) for item in value) if isinstance(value, list) else str(value)

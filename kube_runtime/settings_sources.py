"""Where settings come from beside the defaults: a YAML file, the environment, the flags.

Used by kube_runtime.settings, which puts them in order. Whatever cannot be used raises UsageFault
with the place it came from, what was expected and what was found.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from kube_runtime.settings_fields import Setting

_SERVICE_LINK_NAME: Final = re.compile(
    r"(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$"
)
_SERVICE_LINK_VALUE: Final = re.compile(r"(tcp|udp|sctp)://")
_MAX_FILE_BYTES: Final = 1024 * 1024


class UsageFault(Exception):  # noqa: N818 - becomes the argument parser's own error
    """A value that cannot be used, with the place where it came from."""


def config_path(flag: str | None, variable: str | None, default: Path | None) -> Path | None:
    """Choose the file; one that was asked for must exist."""
    asked = flag or variable
    if asked is None:
        return default if default is not None and default.is_file() else None
    path = Path(asked).expanduser()
    if not path.is_file():
        raise UsageFault(f"--config {asked}: expected a YAML file, found none; check the path")
    return path


def from_file(settings: Sequence[Setting], path: Path | None) -> dict[str, object]:
    """Read the file; keys are the names of the fields, with - or _."""
    if path is None:
        return {}
    raw = _read_yaml(path)
    by_name = {setting.name: setting for setting in settings}
    values = {}
    for key, value in raw.items():
        setting = by_name.get(str(key).replace("-", "_"))
        if setting is None:
            raise UsageFault(f"{path}: unknown key {key!r}; --help lists the known ones")
        values[setting.name] = _parse(setting, value, f"{path}: {key}")
    return values


def _read_yaml(path: Path) -> Mapping[str, object]:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise UsageFault(f"{path}: expected at most {_MAX_FILE_BYTES} bytes of settings")
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        first_line = str(error).splitlines()[0]
        raise UsageFault(f"{path}: expected a readable YAML file: {first_line}") from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise UsageFault(f"{path}: expected a mapping of settings, found {type(raw).__name__}")
    return raw


def from_environment(
    settings: Sequence[Setting], variables: Mapping[str, str], prefix: str
) -> dict[str, object]:
    """Read the variables that begin with the prefix."""
    by_variable = {prefix + setting.name.upper(): setting for setting in settings}
    values = {}
    for name, text in variables.items():
        if not name.startswith(prefix) or name == f"{prefix}CONFIG":
            continue
        setting = by_variable.get(name)
        if _is_service_link(name, text, is_known=setting is not None):
            continue
        if setting is None:
            raise UsageFault(f"unknown variable {name}; --help lists the settings")
        values[setting.name] = _parse(setting, text, name)
    return values


def _is_service_link(name: str, text: str, *, is_known: bool) -> bool:
    """Kubernetes puts variables of every Service into a pod, and ours begin with our prefix."""
    if _SERVICE_LINK_VALUE.match(text):
        return _SERVICE_LINK_NAME.search(name) is not None
    return not is_known and _SERVICE_LINK_NAME.search(name) is not None


def from_flags(settings: Sequence[Setting], arguments: Mapping[str, Any]) -> dict[str, object]:
    """Read the flags that were given."""
    return {
        setting.name: _parse(setting, arguments[setting.name], setting.flag)
        for setting in settings
        if setting.name in arguments
    }


def _parse(setting: Setting, raw: object, where: str) -> object:
    try:
        return setting.parse(raw)
    except ValueError as error:
        raise UsageFault(f"{where}: {error}") from error

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
import yaml

from kube_runtime.settings import FIXED, SECRET, load_settings, print_config, settings_of
from kube_runtime.settings_types import parse_duration


@dataclass(frozen=True, slots=True)
class Server:
    """The server's."""

    port: int = 8443
    """Where it listens; 100% of the interfaces."""
    password: str | None = field(default=None, metadata=SECRET)
    """Needed by the clients."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a test."""

    name: str = field(default="test", metadata=FIXED)
    server: Server = field(default_factory=lambda: Server(port=9000))
    workers: int = 5
    """How many objects are looked at
    at the same time."""
    is_careful: bool = True
    """Look twice."""
    resync_seconds: float = 600.0
    """How often everything is looked at."""
    ratio: float = 0.5
    namespaces: tuple[str, ...] = ()
    folder: Path | None = None
    mode: Literal["fast", "slow"] = "fast"

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"--workers: expected at least 1, found {self.workers}")


def load(
    *argv: str, environ: Mapping[str, str] | None = None, file: Path | None = None
) -> Settings:
    return load_settings(
        Settings, list(argv), env_prefix="TEST_", environ=environ or {}, file=file, prog="test"
    )


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_without_anything_there_are_the_defaults_also_of_the_embedded_instance() -> None:
    assert load() == Settings()
    assert load().server.port == 9000


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "workers: 2\nport: 2\nratio: 2\n")
    environ = {"TEST_WORKERS": "3", "TEST_PORT": "3"}

    settings = load("--workers", "4", environ=environ, file=file)

    assert (settings.workers, settings.server.port, settings.ratio) == (4, 3, 2.0)


def test_each_type_is_read_from_a_flag(tmp_path: Path) -> None:
    settings = load(
        "--no-is-careful",
        "--resync-seconds=1h30m",
        "--namespaces=a, b",
        f"--folder={tmp_path}",
        "--mode=slow",
        "--ratio=1e-3",
    )

    assert settings == Settings(
        is_careful=False,
        resync_seconds=5400.0,
        namespaces=("a", "b"),
        folder=tmp_path,
        mode="slow",
        ratio=0.001,
    )


def test_each_type_is_read_from_yaml(tmp_path: Path) -> None:
    file = write(
        tmp_path / "c.yaml",
        "is-careful: false\nresync_seconds: 90s\nnamespaces: [a, b]\nfolder: null\nmode: slow\n",
    )

    assert load(file=file) == Settings(
        is_careful=False, resync_seconds=90.0, namespaces=("a", "b"), mode="slow"
    )


def test_the_file_may_be_named_by_flag_or_variable(tmp_path: Path) -> None:
    file = write(tmp_path / "c.yaml", "workers: 7\n")

    assert load("--config", str(file)).workers == 7
    assert load(environ={"TEST_CONFIG": str(file)}).workers == 7
    assert load(file=tmp_path / "absent.yaml").workers == 5


def test_an_empty_optional_variable_is_none() -> None:
    assert load(environ={"TEST_FOLDER": ""}).folder is None


@pytest.mark.parametrize(
    ("argv", "environ", "content", "message"),
    [
        (["--worker=4"], {}, "", "unrecognized arguments: --worker=4"),
        (["--work=4"], {}, "", "unrecognized arguments: --work=4"),
        (["--name=x"], {}, "", "unrecognized arguments: --name=x"),
        (["--workers=many"], {}, "", "--workers: expected a whole number, found 'many'"),
        (["--mode=odd"], {}, "", "--mode: expected one of fast, slow, found 'odd'"),
        (["--resync-seconds=soon"], {}, "", "expected seconds or a duration such as 90s"),
        (["--resync-seconds=-1"], {}, "", "expected a duration of 0 or more"),
        (["--ratio=nan"], {}, "", "expected a number"),
        (["--workers=0"], {}, "", "--workers: expected at least 1, found 0"),
        ([], {"TEST_WORKER": "4"}, "", "unknown variable TEST_WORKER"),
        ([], {"TEST_IS_CAREFUL": "maybe"}, "", "TEST_IS_CAREFUL: expected true or false"),
        ([], {}, "worker: 4", "unknown key 'worker'"),
        ([], {}, "workers: '4 '\nname: x", "unknown key 'name'"),
        ([], {}, "is_careful: 1", "is_careful: expected true or false, found 1"),
        ([], {}, "workers: 4.5", "workers: expected a whole number, found 4.5"),
        ([], {}, "mode: [fast]", "mode: expected one of fast, slow"),
        ([], {}, "folder: 5", "folder: expected a path, found 5"),
        ([], {}, "namespaces: 5", "namespaces: expected a list, found 5"),
        ([], {}, "namespaces: [5]", "namespaces: expected text, found 5"),
        ([], {}, "- a list", "expected a mapping of settings, found list"),
        ([], {}, "a: [", "expected a readable YAML file"),
        ([], {}, "password: [hunter2]", "password: the value cannot be read"),
        (["--config=/absent.yaml"], {}, "", "--config /absent.yaml: expected a YAML file"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_code_2(
    argv: Sequence[str],
    environ: Mapping[str, str],
    content: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = write(tmp_path / "c.yaml", content)

    with pytest.raises(SystemExit) as caught:
        load(*argv, environ=environ, file=file)

    errors = capsys.readouterr().err
    assert caught.value.code == 2
    assert message in errors
    assert errors.count("\n") == 1
    assert "hunter2" not in errors


def test_variables_that_kubernetes_makes_for_services_are_not_ours() -> None:
    links = {
        "TEST_SERVICE_HOST": "10.0.0.1",
        "TEST_SERVICE_PORT": "443",
        "TEST_SERVICE_PORT_HTTPS": "443",
        "TEST_PORT": "tcp://10.0.0.1:443",
        "TEST_PORT_443_TCP": "tcp://10.0.0.1:443",
        "TEST_PORT_443_TCP_ADDR": "10.0.0.1",
        "TEST_METRICS_PORT": "tcp://10.0.0.2:8443",
    }

    assert load(environ=links) == Settings()


def test_print_config_shows_what_holds_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        load("--print-config", "--password=hunter2", "--namespaces=a", "--folder=/x")

    output = capsys.readouterr().out
    assert caught.value.code == 0
    assert "hunter2" not in output
    assert yaml.safe_load(output) == {
        "port": 9000,
        "password": "(hidden)",
        "workers": 5,
        "is_careful": True,
        "resync_seconds": 600.0,
        "ratio": 0.5,
        "namespaces": ["a"],
        "folder": "/x",
        "mode": "fast",
    }


def test_what_print_config_prints_can_be_read_again(tmp_path: Path) -> None:
    settings = Settings(workers=9, namespaces=("a",), folder=tmp_path)

    file = write(tmp_path / "c.yaml", print_config(settings))

    assert load(file=file) == settings


def test_the_help_is_the_docstring_under_the_field(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        load("--help")

    text = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0
    assert "Settings of a test." in text
    assert "How many objects are looked at at the same time. (default: 5)" in text
    assert "100% of the interfaces. (default: 9000)" in text
    assert "--is-careful, --no-is-careful" in text
    assert "--resync-seconds DURATION" in text
    assert "--mode fast|slow" in text


@dataclass(frozen=True)
class Demanding:
    address: str


def test_a_field_without_default_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load_settings(Demanding, [], env_prefix="TEST_", environ={})

    assert "--address is required" in capsys.readouterr().err
    found = load_settings(Demanding, ["--address=x"], env_prefix="TEST_", environ={})
    assert found.address == "x"


@dataclass(frozen=True)
class Twice:
    server: Server = field(default_factory=Server)
    port: int = 1


def test_a_name_that_occurs_twice_is_the_programmers_mistake() -> None:
    with pytest.raises(TypeError, match="the settings port occur twice"):
        settings_of(Twice)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("1.5", 1.5), ("500ms", 0.5), ("90s", 90), ("1h30m", 5400), ("1d", 86400)],
)
def test_durations_are_seconds_or_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds

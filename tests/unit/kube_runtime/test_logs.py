import io
import json
import logging
from collections.abc import Iterator

import pytest

from kube_runtime import logs

log = logging.getLogger("kube_runtime.test")


@pytest.fixture(autouse=True)
def root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    levels = {name: logging.getLogger(name).level for name in logs._QUIET_LIBRARIES}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, quiet_level in levels.items():
        logging.getLogger(name).setLevel(quiet_level)


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def test_text_is_a_constant_message_and_key_values(stream: io.StringIO) -> None:
    logs.configure("text", "info", stream=stream)

    log.warning("sync failed", extra=logs.fields(object="ns/web", reason=None, note="two words"))

    line = stream.getvalue()
    assert line.endswith(
        'Z WARNING kube_runtime.test sync failed object=ns/web reason=- note="two words"\n'
    )


def test_json_is_one_object_a_line(stream: io.StringIO) -> None:
    logs.configure("json", "info", stream=stream)

    log.warning("sync failed", extra=logs.fields(count=2, object=("a", "b"), big=10**30))

    entry = json.loads(stream.getvalue())
    assert entry["msg"] == "sync failed"
    assert entry["level"] == "warning"
    assert entry["count"] == 2
    assert entry["object"] == "('a', 'b')"
    assert entry["big"] == str(10**30)


def test_a_field_cannot_pose_as_the_message(stream: io.StringIO) -> None:
    logs.configure("json", "info", stream=stream)

    log.warning("true", extra=logs.fields(msg="false", level="debug"))

    entry = json.loads(stream.getvalue())
    assert (entry["msg"], entry["level"]) == ("true", "warning")


def test_a_value_with_a_line_break_stays_on_its_line(stream: io.StringIO) -> None:
    logs.configure("text", "info", stream=stream)

    log.warning("read %s", "a\nb", extra=logs.fields(text="c\nd", empty="", quote='"'))

    assert stream.getvalue().count("\n") == 1
    assert r'text="c\nd" empty="" quote="\""' in stream.getvalue()


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_trace_is_kept(format_: logs.LogFormat, stream: io.StringIO) -> None:
    logs.configure(format_, "info", stream=stream)

    try:
        {"metadata": {}}["spec"]
    except KeyError:
        log.exception("reconcile panicked")

    assert "KeyError: 'spec'" in stream.getvalue()


def test_the_level_is_kept_and_libraries_speak_only_when_it_matters(stream: io.StringIO) -> None:
    logs.configure("text", "info", stream=stream)

    log.debug("detail")
    logging.getLogger("kopf.objects").info("chatter")
    logging.getLogger("kopf.objects").warning("trouble")

    assert "detail" not in stream.getvalue()
    assert "chatter" not in stream.getvalue()
    assert "trouble" in stream.getvalue()


def test_a_very_long_value_is_cut(stream: io.StringIO) -> None:
    logs.configure("text", "info", stream=stream)

    log.warning("manifest", extra=logs.fields(value="x" * 100_000))

    assert len(stream.getvalue()) < 3000


@pytest.mark.parametrize("format_", ["text", "json"])
def test_what_no_encoding_takes_is_shown_as_escapes(
    format_: logs.LogFormat, stream: io.StringIO
) -> None:
    logs.configure(format_, "info", stream=stream)

    log.warning("odd \udce9", extra=logs.fields(file="caf\udce9.yaml"))

    line = stream.getvalue().replace("\\\\", "\\")
    assert "odd \\udce9" in line
    assert "caf\\udce9.yaml" in line

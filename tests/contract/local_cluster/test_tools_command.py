from pathlib import Path

import pytest

from levelset.__main__ import main
from local_cluster import tools
from local_cluster.tools import debian

pytestmark = pytest.mark.contract


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is here, no Go, and no package index answers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("LEVELSET_BIN_DIR", raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


def test_list_names_every_program_with_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "list"]) == 0

    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    for program in tools.PROGRAMS.values():
        assert program.version in lines[program.name]
    assert "package" in lines["containerd"]


@pytest.mark.usefixtures("bare_machine")
def test_list_says_how_to_get_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "list"]) == 0

    (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("cosign")]
    assert "missing" in line
    assert "`levelset tools install` builds it" in line


@pytest.mark.usefixtures("bare_machine")
def test_without_go_and_without_network_install_says_so_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tools", "install", "--for", "bench", "--no-apt"]) == 1

    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("levelset: Go 1.26 or newer is not on PATH and could not be fetched")
    assert last.endswith("install Go 1.26 and try again")


def test_no_apt_names_the_packages_and_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "missing", lambda _: ["containerd"])
    monkeypatch.setattr(debian, "install", lambda *_: pytest.fail("must not be called"))
    tools.find("kubectl")

    assert main(["tools", "install", "--for", "bench", "--no-apt"]) == 0

    said = capsys.readouterr().err
    assert "not installed (--no-apt" in said or "not installed (this is not root)" in said
    assert "apt-get install --no-install-recommends containerd" in said


def test_a_purpose_that_does_not_exist_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["tools", "install", "--for", "fun"])

    assert end.value.code == 2
    assert "--for: invalid choice: 'fun' (choose from" in capsys.readouterr().err

"""The traps of this layout, each one tried: see docs/design/001-house.md."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def _tracked() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=30,
    )
    return [ROOT / name for name in listing.stdout.decode().split("\0") if name]


def test_operator_is_a_drawer_and_never_a_package() -> None:
    assert (ROOT / "operator" / "workloads" / "__init__.py").exists()
    assert not (ROOT / "operator" / "__init__.py").exists()


def test_no_package_marker_stands_below_tests() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_no_lock_file_names_an_index_or_lacks_a_hash() -> None:
    for lock in ("runtime.txt", "dev.txt"):
        text = (ROOT / "requirements" / lock).read_text()

        assert "://" not in text
        pins = re.findall(r"^\S+==\S+", text, re.MULTILINE)
        blocks = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)[1:]
        assert len(pins) > 20
        assert all("--hash=sha256:" in block for block in blocks)


def test_no_source_file_is_longer_than_the_house_allows() -> None:
    too_long = {
        str(path.relative_to(ROOT)): count
        for path in _tracked()
        if path.suffix == ".py"
        and path.exists()
        and (count := len(path.read_text().splitlines())) > 600
    }

    assert too_long == {}

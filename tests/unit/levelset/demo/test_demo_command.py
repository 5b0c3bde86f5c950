"""The command line of the demo: what it is told, and what it refuses before it touches anything."""

import pytest

from levelset.__main__ import main
from levelset.demo import play
from levelset.demo.stage import Options


@pytest.mark.parametrize("nodes", ["1", "0", "-3", "many"])
def test_fewer_than_two_nodes_is_wrong_usage(
    nodes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", f"--nodes={nodes}"])

    assert ended.value.code == 2
    assert "--nodes" in capsys.readouterr().err


def test_flags_become_options(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Options] = []

    def run(options: Options) -> int:
        played.append(options)
        return 0

    monkeypatch.setattr(play, "run", run)

    code = main(["demo", "--keep", "--no-apt", "--nodes=2"])

    assert code == 0
    assert played == [Options(keep=True, install_packages=False, nodes=2, picture=None)]

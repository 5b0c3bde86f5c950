"""Small decisions of the demo: the image it sets, the image it builds, accounts, tables."""

import json
import stat
from pathlib import Path

import pytest
import yaml

from levelset.demo import accounts, image, report
from levelset.demo.errors import DemoFailedError, require
from levelset.demo.repository import with_image
from levelset.demo.stage import EXAMPLES, Stage
from local_cluster.process import Identity, Program
from local_cluster.services.prometheus import Sample


def test_a_promotion_changes_the_image_and_nothing_else() -> None:
    before = (EXAMPLES / "overlays" / "staging" / "kustomization.yaml").read_text()

    after = yaml.safe_load(with_image(before, "registry.test/web", "sha256:1"))

    image_entry = {"name": "web", "newName": "registry.test/web", "digest": "sha256:1"}
    assert after == {**yaml.safe_load(before), "images": [image_entry]}


def test_versions_share_the_programs_layer() -> None:
    first, second = (image.web_image(v, b"program") for v in ("v1", "v2"))

    assert first.layers[0].digest == second.layers[0].digest
    assert first.digest != second.digest


def test_the_image_does_not_run_as_root() -> None:
    config = json.loads(image.web_image("v1", b"program").config.content)["config"]

    assert config["User"] == "65532:65532"


def test_a_controllers_kubeconfig_has_its_token_and_not_the_administrators_key(
    tmp_path: Path,
) -> None:
    admin = tmp_path / "admin.kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "https://198.18.0.11:6443"}}
    user = {"name": "admin", "user": {"client-key-data": "SECRET"}}
    admin.write_text(yaml.safe_dump({"clusters": [cluster], "users": [user]}))

    path = accounts.write_kubeconfig(
        tmp_path / "part.kubeconfig", admin_kubeconfig=admin, token="TOKEN"
    )

    assert yaml.safe_load(path.read_text()) == {
        "clusters": [cluster],
        "users": [{"name": "admin", "user": {"token": "TOKEN"}}],
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_quantile_of_nothing_is_left_out_of_the_table() -> None:
    samples = [Sample({"job": "workloads"}, 0.5), Sample({"job": "exporters"}, float("nan"))]

    assert report.by_job(samples) == {"workloads": 0.5}


def test_each_controller_has_a_column() -> None:
    table = report.runtime_table([(report.ROWS[0], {"workloads": 12345.0})])

    assert [column.header for column in table.columns][1:] == list(accounts_of_all())
    assert next(iter(table.columns[1].cells)) == "12,345"
    assert next(iter(table.columns[2].cells)) == "-"


def accounts_of_all() -> tuple[str, ...]:
    return ("workloads", "gitops_agent", "supply_chain", "exporters")


def test_a_claim_that_does_not_hold_ends_the_demo() -> None:
    require(True, "holds")
    with pytest.raises(DemoFailedError, match="does not hold"):
        require(False, "does not hold")


def test_what_was_started_is_found_again(tmp_path: Path) -> None:
    stage = Stage.clear(tmp_path / "demo", keep=True)
    program = Program("web", Identity(pid=2**22 - 1, started=1), tmp_path / "web.log")

    stage.started(program)

    assert Stage.take(tmp_path / "demo").programs == [program]
    assert not Stage.take(tmp_path / "demo").is_running


def test_a_teardown_keeps_logs_and_the_picture_and_no_secret(tmp_path: Path) -> None:
    stage = Stage.clear(tmp_path / "demo", keep=False)
    git_log = stage.folder("git") / "git-http.log"
    git_log.write_text("served")
    (stage.folder("accounts") / "token").write_text("TOKEN")
    (stage.directory / "demo-rollout.svg").write_text("<svg/>")
    stage.started(Program("git-http", Identity(pid=2**22 - 1, started=1), git_log))

    stage._tidy()

    kept = sorted(str(p.relative_to(stage.directory)) for p in stage.directory.rglob("*"))
    assert kept == ["demo-rollout.svg", "logs", "logs/git-http.log"]


def test_nothing_is_found_where_no_demo_was(tmp_path: Path) -> None:
    assert Stage.take(tmp_path).programs == []

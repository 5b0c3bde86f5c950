import os
from pathlib import Path

import pytest

from local_cluster.embedded.network import Addresses
from local_cluster.embedded.place import Place, Shape
from local_cluster.process import Identity, Program
from local_cluster.provider import BadPlan, ClusterPlan


@pytest.mark.parametrize("name", ["", "Big", "a/b", "..", "-a", "a-", "a" * 41, "a b", "a\n"])
def test_a_name_that_would_not_do_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadPlan, match=r"expected up to 40 of a-z"):
        Place.of(name, tmp_path)


def test_clusters_live_below_the_state_folder_of_xdg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    assert Place.of("levelset").directory == tmp_path / "levelset" / "clusters" / "levelset"


def test_two_clusters_of_one_name_in_two_folders_share_no_name(tmp_path: Path) -> None:
    one, two = Place.of("same", tmp_path / "one"), Place.of("same", tmp_path / "two")

    assert {one.bridge, one.cgroup, one.link(1)}.isdisjoint({two.bridge, two.cgroup, two.link(1)})
    assert one.marker != two.marker


def test_names_of_links_fit_into_the_kernel(tmp_path: Path) -> None:
    place = Place.of("a" * 40, tmp_path)

    assert max(len(place.bridge), len(place.link(50))) <= 15


def test_a_shape_is_read_as_it_was_written(tmp_path: Path) -> None:
    place = _place(tmp_path)
    shape = Shape(nodes=3, simulated_nodes=1, network=7, server="https://x", is_complete=True)

    place.save(shape)

    assert place.shape() == shape


@pytest.mark.parametrize("content", ["", "{", "[]", '{"nodes": 1}', '{"unknown": 1}'])
def test_a_broken_shape_is_none_so_that_the_cluster_counts_as_half_made(
    tmp_path: Path, content: str
) -> None:
    place = _place(tmp_path)
    (place.directory / "shape.json").write_text(content)

    assert place.shape() is None


def test_a_half_written_line_of_programs_is_passed_over(tmp_path: Path) -> None:
    place = _place(tmp_path)
    place.note(Program("etcd", Identity(12, 34), tmp_path / "log"))
    with (place.directory / "programs").open("a") as file:
        file.write('["kube-api')

    assert place.programs() == {"etcd": Identity(12, 34)}


def test_a_reused_pid_is_not_taken_for_ours() -> None:
    me = Identity.of(os.getpid())
    assert me is not None

    stranger = Identity(me.pid, me.started - 1)

    assert me.is_alive()
    assert not stranger.is_alive()


def test_addresses_of_a_cluster_are_inside_its_own_subnet() -> None:
    first, last = Addresses(0), Addresses(511)

    assert (first.host, first.node(1), first.node(50)) == (
        "198.18.0.1",
        "198.18.0.11",
        "198.18.0.60",
    )
    assert (last.host, last.pods(3)) == ("198.19.255.1", "10.244.3.0/24")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"nodes": -1}, r"nodes: expected 0 or more, found -1"),
        ({"nodes": 51}, r"nodes: expected at most 50, found 51"),
        ({"simulated_nodes": -2}, r"simulated nodes: expected 0 or more, found -2"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(plan: dict[str, int], message: str) -> None:
    with pytest.raises(BadPlan, match=message):
        ClusterPlan(**plan)  # type: ignore[arg-type]  # the other fields are no numbers


def _place(tmp_path: Path) -> Place:
    place = Place.of("some", tmp_path)
    place.directory.mkdir()
    return place

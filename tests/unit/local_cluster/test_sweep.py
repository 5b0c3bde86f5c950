"""What `down` takes away, and what it leaves alone."""

from pathlib import Path

import pytest

from local_cluster.embedded import sweep
from local_cluster.embedded.place import Place
from local_cluster.errors import ClusterError


def test_a_folder_that_a_link_names_is_not_emptied(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    (tmp_path / "mine").symlink_to(other)
    place = Place.of("mine", tmp_path)

    assert sweep.Traces.look(place).has_folder
    with pytest.raises(ClusterError, match="mine: expected the cluster's folder"):
        sweep.remove(place)
    assert (other / "kept").exists()


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to("/nowhere/at-all")])
def test_a_file_or_a_dangling_link_in_the_place_of_a_folder_is_named(
    tmp_path: Path, make: object
) -> None:
    assert callable(make)
    make(tmp_path / "mine")

    with pytest.raises(ClusterError, match="remove it by hand"):
        sweep.remove(Place.of("mine", tmp_path))

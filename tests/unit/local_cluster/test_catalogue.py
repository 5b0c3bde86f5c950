import re

import pytest

from local_cluster import tools
from local_cluster.errors import MissingTool
from local_cluster.tools import catalogue

PINNED = [
    each for each in tools.PROGRAMS.values() if each.package.partition("/")[0] != "levelset.dev"
]
OWN = [each for each in tools.PROGRAMS.values() if each not in PINNED]


@pytest.mark.parametrize("program", PINNED, ids=lambda each: each.name)
def test_the_version_of_a_program_is_the_one_in_go_mod(program: catalogue.Program) -> None:
    go_mod = (program.directory / "go.mod").read_text()

    assert re.fullmatch(r"v\d+\.\d+\.\d+", program.version)
    assert re.search(rf"\S {re.escape(program.version)}$", go_mod, re.MULTILINE)


@pytest.mark.parametrize("program", tools.PROGRAMS.values(), ids=lambda each: each.name)
def test_every_module_is_there_with_its_source_or_its_sums(program: catalogue.Program) -> None:
    files = {each.name for each in program.directory.iterdir()}

    assert "go.mod" in files
    assert {"go.sum", "tools.go"} <= files or program in OWN


def test_the_version_of_our_own_program_changes_with_its_source() -> None:
    versions = {program.version for program in OWN}

    assert len(versions) == len(OWN)
    assert all(version.startswith("own-") for version in versions)


def test_kubernetes_is_told_its_version_by_the_linker() -> None:
    flags = tools.program("kubelet").linker_flags

    variable = "k8s.io/component-base/version"
    assert f"-X {variable}.gitVersion={tools.program('kubelet').version}" in flags
    assert f"-X {variable}.gitMajor=1" in flags


def test_a_program_that_is_not_pinned_is_named_with_the_pinned_ones() -> None:
    with pytest.raises(MissingTool, match=r"minikube: not one of the pinned programs .*kubectl"):
        tools.program("minikube")

import stat
import tomllib
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from local_cluster import kubeconfig, pki
from local_cluster.embedded import cgroups, containerd, images, kubelet
from local_cluster.errors import ClusterError

_V1 = """\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
36 31 0:33 / /sys/fs/cgroup/devices rw shared:5 - cgroup cgroup rw,devices
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
"""
_V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


def test_a_hybrid_machine_is_cgroup_v1() -> None:
    found = cgroups.Hierarchies.parse(_V1)

    assert not found.is_v2
    assert [each.name for each in found.mounts] == ["cpu", "devices"]
    assert [each.name for each in found.all_mounts] == ["cpu", "devices", "unified"]


def test_a_unified_machine_is_cgroup_v2() -> None:
    root = Path("/sys/fs/cgroup")

    assert cgroups.Hierarchies.parse(_V2) == cgroups.Hierarchies(
        is_v2=True, mounts=(root,), all_mounts=(root,)
    )


@pytest.mark.parametrize(("is_v2", "is_told_to_accept_v1"), [(True, False), (False, True)])
def test_the_kubelet_is_told_to_accept_cgroup_v1_only_there(
    tmp_path: Path, *, is_v2: bool, is_told_to_accept_v1: bool
) -> None:
    authority = pki.Authority.create(tmp_path, "test")
    file = kubelet.write_configuration(
        tmp_path,
        authority=authority.certificate,
        serving=authority.issue("node", common_name="node", hosts=["198.18.0.11"]),
        cgroup="/levelset-x/node1",
        is_cgroup_v2=is_v2,
    )

    assert ("failCgroupV1" in yaml.safe_load(file.read_text())) == is_told_to_accept_v1


def test_containerd_gets_toml_whatever_the_folder_is_called(tmp_path: Path) -> None:
    directory = tmp_path / 'it\'s a "folder" \\ ü'

    file = containerd.write_configuration(directory, pods="10.244.1.0/24", registries=tmp_path)

    parsed = tomllib.loads(file.read_text())
    assert parsed["root"] == str(directory / "containerd")
    assert parsed["plugins"]["io.containerd.grpc.v1.cri"]["restrict_oom_score_adj"] is True


def test_a_registry_is_reached_by_http_for_pulls_only(tmp_path: Path) -> None:
    containerd.allow_http(tmp_path, "198.18.0.1:5000")

    parsed = tomllib.loads((tmp_path / "198.18.0.1:5000" / "hosts.toml").read_text())
    assert parsed["host"]["http://198.18.0.1:5000"]["capabilities"] == ["pull", "resolve"]


def test_a_kubeconfig_and_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    authority = pki.Authority.create(tmp_path / "pki", "test")
    user = authority.issue("admin", common_name="admin", groups=["system:masters"])

    path = kubeconfig.write(
        tmp_path / "kubeconfig", server="https://x", authority=authority.certificate, user=user
    )

    for secret in (path, user.key, tmp_path / "pki" / "ca.key"):
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600


def test_a_certificate_names_its_hosts_and_groups(tmp_path: Path) -> None:
    issued = pki.Authority.create(tmp_path, "test").issue(
        "server", common_name="api", groups=["one", "two"], hosts=["198.18.0.11", "kubernetes"]
    )

    parsed = x509.load_pem_x509_certificate(issued.certificate.read_bytes())
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["198.18.0.11"]
    assert names.get_values_for_type(x509.DNSName) == ["kubernetes"]
    assert parsed.subject.rfc4514_string() == "CN=api,O=two,O=one"


def test_an_authority_that_is_loaded_issues_what_the_first_would_have(tmp_path: Path) -> None:
    first = pki.Authority.create(tmp_path, "test")

    issued = pki.Authority.load(tmp_path).issue("later", common_name="later")

    certificate = x509.load_pem_x509_certificate(issued.certificate.read_bytes())
    authority = x509.load_pem_x509_certificate(first.certificate.read_bytes())
    certificate.verify_directly_issued_by(authority)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.tar", r"missing\.tar: no such file; expected an image archive"),
        ("text", r"text: expected a docker archive"),
        (
            "folder",
            r"folder: expected a docker archive, an OCI archive or a folder with oci-layout",
        ),
    ],
)
def test_what_is_no_image_is_named(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "text").write_text("hello")
    (tmp_path / "folder").mkdir()

    with pytest.raises(ClusterError, match=message), images.as_archive(tmp_path / path):
        pass

"""Building images is pure: the same files give the same digest, and the parts refer to each other."""

import io
import json
import tarfile

from local_cluster import images

LAYER: list[images.File | images.Symlink] = [
    images.File("/bin/web", b"program", mode=0o755),
    images.File("/etc/web/version", b"v1\n"),
    images.Symlink("/bin/server", "web"),
]


def test_the_same_files_give_the_same_digest() -> None:
    first = images.build_image([LAYER], entrypoint=["/bin/web"])
    second = images.build_image([list(LAYER)], entrypoint=["/bin/web"])

    assert first.digest == second.digest


def test_another_file_gives_another_digest() -> None:
    changed = [*LAYER[:1], images.File("/etc/web/version", b"v2\n")]

    first = images.build_image([LAYER], entrypoint=["/bin/web"])
    second = images.build_image([changed], entrypoint=["/bin/web"])

    assert first.digest != second.digest


def test_layers_that_do_not_change_keep_their_digest() -> None:
    program: list[images.File | images.Symlink] = [images.File("/web", b"program", mode=0o755)]

    versions = [
        images.build_image([program, [images.File("/version", text)]], entrypoint=["/web"])
        for text in (b"v1", b"v2")
    ]

    assert versions[0].layers[0].digest == versions[1].layers[0].digest
    assert versions[0].layers[1].digest != versions[1].layers[1].digest


def test_the_manifest_describes_config_and_layers() -> None:
    image = images.build_image([LAYER], entrypoint=["/bin/web"])

    manifest = json.loads(image.manifest.content)

    assert manifest["config"] == image.config.descriptor()
    assert manifest["layers"] == [image.layers[0].descriptor()]
    assert manifest["mediaType"] == image.manifest.media_type


def test_the_config_names_the_layers_and_does_not_run_as_root() -> None:
    image = images.build_image([LAYER], entrypoint=["/bin/web"], environment={"A": "b"})

    config = json.loads(image.config.content)

    assert config["rootfs"]["diff_ids"] == [image.layers[0].digest]
    assert config["config"]["User"] == "65532:65532"
    assert config["config"]["Entrypoint"] == ["/bin/web"]
    assert config["config"]["Env"] == ["A=b"]


def test_a_layer_holds_its_folders_before_their_files() -> None:
    image = images.build_image([LAYER], entrypoint=["/bin/web"])

    with tarfile.open(fileobj=io.BytesIO(image.layers[0].content)) as layer:
        members = layer.getmembers()

    assert [m.name for m in members] == [
        "bin",
        "etc",
        "etc/web",
        "bin/web",
        "etc/web/version",
        "bin/server",
    ]
    assert all(m.mtime == 0 and m.uid == 0 for m in members)
    assert members[3].mode == 0o755
    assert members[5].linkname == "web"


def test_a_docker_archive_names_what_it_holds() -> None:
    image = images.build_image([LAYER], entrypoint=["/bin/web"])

    with tarfile.open(fileobj=io.BytesIO(images.docker_archive(image, "local/web:1"))) as archive:
        names = archive.getnames()
        index = archive.extractfile("manifest.json")
        assert index is not None
        entry = json.load(index)[0]

    assert entry["RepoTags"] == ["local/web:1"]
    assert {entry["Config"], *entry["Layers"]} <= set(names)

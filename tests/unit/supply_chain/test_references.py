"""Image references: read as the runtimes read them, or not at all."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supply_chain.errors import InvalidReference
from supply_chain.registry.reference import Digest, parse_reference

HEX = "ab" * 32
DIGEST = Digest(f"sha256:{HEX}")


@pytest.mark.parametrize(
    ("text", "name", "tag"),
    [
        ("nginx", "docker.io/library/nginx", "latest"),
        ("nginx:1.27", "docker.io/library/nginx", "1.27"),
        ("team/app", "docker.io/team/app", "latest"),
        ("docker.io/nginx", "docker.io/library/nginx", "latest"),
        ("index.docker.io/team/app:1", "docker.io/team/app", "1"),
        ("registry.example.test/app", "registry.example.test/app", "latest"),
        ("registry-1.docker.io/nginx", "docker.io/library/nginx", "latest"),
        ("docker.io:443/team/app", "docker.io/team/app", "latest"),
        ("docker.io:00443/team/app", "docker.io/team/app", "latest"),
        ("registry.example.test:05000/app", "registry.example.test:5000/app", "latest"),
        ("Registry.example.test:443/app:1", "registry.example.test/app", "1"),
        ("localhost/app:1", "localhost/app", "1"),
        ("localhost:5000/a/b_c/d--e", "localhost:5000/a/b_c/d--e", "latest"),
        ("127.0.0.1:5000/app:v1", "127.0.0.1:5000/app", "v1"),
        ("[::1]:5000/app", "[::1]:5000/app", "latest"),
        ("Registry.Example.test/app", "registry.example.test/app", "latest"),
        (f"app@{DIGEST}", "docker.io/library/app", None),
        (f"app:1@{DIGEST}", "docker.io/library/app", "1"),
    ],
)
def test_a_reference_is_normalised(text: str, name: str, tag: str | None) -> None:
    reference = parse_reference(text)

    assert (reference.name, reference.tag) == (name, tag)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "nginx ", "nginx\n", "NGINX", "team/App", "a//b", "/a", "a/", ":1", "app:", "a:b:c",
        "app:-1", "app:" + "x" * 129, "app@", "app@sha256:", f"app@sha256:{HEX[:-1]}",
        f"app@sha256:{HEX.upper()}", f"app@sha512:{HEX}", f"app@{DIGEST}@{DIGEST}",
        "https://registry.example.test/app", "user@registry.example.test/app", "a..b", "-a", "a_",
        "registry.example.test:port/app", "x" * 600, "../etc", "a/../b", "a?b", "a#b", "a%2fb",
    ],
)  # fmt: skip
def test_what_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(InvalidReference):
        parse_reference(text)


@pytest.mark.parametrize(
    ("text", "pinned"),
    [
        ("nginx", f"nginx@{DIGEST}"),
        ("nginx:1", f"nginx@{DIGEST}"),
        ("localhost:5000/app", f"localhost:5000/app@{DIGEST}"),
        ("localhost:5000/app:latest", f"localhost:5000/app@{DIGEST}"),
        (f"app:1@sha256:{'cd' * 32}", f"app@{DIGEST}"),
    ],
)
def test_a_pinned_reference_keeps_the_name_as_it_was_written(text: str, pinned: str) -> None:
    assert parse_reference(text).pinned(DIGEST) == pinned


@given(st.text(max_size=80))
def test_any_text_is_a_reference_or_refused_cleanly(text: str) -> None:
    with contextlib.suppress(InvalidReference):
        reference = parse_reference(text)
        again = parse_reference(reference.pinned(DIGEST))
        assert (again.name, again.digest) == (reference.name, DIGEST)

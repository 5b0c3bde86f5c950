"""URLs, refs, credentials and trees: what is accepted, and what is the same."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.errors import InvalidSpec, LimitExceeded, RevisionNotFound, UnsafePath
from gitops_agent.source.credentials import ANONYMOUS, Credentials, select
from gitops_agent.source.refs import Commit, RefSnapshot, check_revision
from gitops_agent.source.tree import Entry, Tree, checked_path
from gitops_agent.source.urls import parse
from kube_runtime.resource import Json

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


@pytest.mark.parametrize(
    "url",
    [
        "https://Git.Example.com/Team/App.git",
        "https://git.example.com:443/team/app",
        "http://git.example.com/team/app.git/",
        "ssh://git@git.example.com/team/app.git",
        "git@git.example.com:team/app.git",
        "https://someone@git.example.com//team/app",
    ],
)
def test_all_spellings_of_one_repository_have_one_key(url: str) -> None:
    assert parse(url).index_key == "git.example.com/team/app"


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("file:///etc", "file://"),
        ("ext::sh", "no scheme"),
        ("/etc/passwd", "no scheme"),
        ("git://example.com/x", "git://"),
        ("https://user:secret@example.com/x", "password"),
        ("https://example.com/x?token=secret", "no query"),
        ("https://example.com", "path"),
        ("https://example.com/a/../b", "path"),
        ("https:///x", "host"),
        ("ssh://-oProxyCommand=id/x", "host"),
        ("ssh://-oProxyCommand=id@host/x", "user"),
        ("https://example.com/--upload-pack=id", "path"),
        ("https://example.com:99999/x", "not a URL"),
        ("https://exa mple.com/x", "blanks"),
        ("https://example.com/a\nb", "control"),
    ],
)
def test_what_is_no_safe_url_is_refused_without_its_password(url: str, word: str) -> None:
    with pytest.raises(InvalidSpec, match=word) as caught:
        parse(url)

    assert "secret" not in str(caught.value)


@BRIEF
@given(st.text(max_size=60))
def test_no_text_leads_to_anything_but_our_own_error(text: str) -> None:
    try:
        assert parse(str(parse(text))) == parse(text)
    except InvalidSpec:
        return


@pytest.mark.parametrize(
    ("prefix", "url", "covers"),
    [
        ("https://h/team", "https://h/team/app.git", True),
        ("https://h/team/app.git", "https://h/team/app", True),
        ("https://h/team", "https://h/teammate/app", False),
        ("https://h/team", "http://h/team/app", False),
        ("https://h/team", "https://h:8443/team/app", False),
        ("https://h/team", "https://h.evil/team/app", False),
    ],
)
def test_credentials_cover_their_own_server_and_path_only(
    prefix: str, url: str, *, covers: bool
) -> None:
    assert parse(prefix).covers(parse(url)) is covers


def _secret(name: str, **values: str) -> Json:
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return {"metadata": {"name": name, "namespace": "ns", "uid": name}, "data": data}


def test_the_longest_prefix_is_chosen_and_nothing_is_shown() -> None:
    secrets = [
        _secret("host", url="https://h/team", password="wide-secret"),
        _secret("repository", url="https://h/team/app", password="narrow-secret"),
        _secret("broken", url="::", password="x"),
    ]

    found = select(secrets, parse("https://h/team/app.git"))

    assert found.password == "narrow-secret"
    assert "narrow-secret" not in repr(found)
    assert select(secrets, parse("https://other/team/app")) is ANONYMOUS


def test_a_key_without_known_hosts_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="knownHosts"):
        select([_secret("s", url="ssh://h/x", sshPrivateKey="key")], parse("ssh://git@h/x"))


def test_what_git_says_is_scrubbed() -> None:
    shown = Credentials("ns/s/u", username="me", password="hunter22")
    basic = base64.b64encode(b"me:hunter22").decode()

    assert "hunter22" not in shown.scrub(f"fatal: hunter22 {basic}")
    assert basic not in shown.scrub(f"fatal: hunter22 {basic}")


A, B, C = (Commit(letter * 40) for letter in "abc")
REFS = RefSnapshot.parse(
    f"ref: refs/heads/main\tHEAD\n{A}\tHEAD\n{A}\trefs/heads/main\n{B}\trefs/heads/both\n"
    f"{'d' * 40}\trefs/tags/v1\n{B}\trefs/tags/v1^{{}}\n{C}\trefs/tags/both\n"
    f"{C}\trefs/pull/7/head\n".encode()
)


@pytest.mark.parametrize(
    ("target", "commit"),
    [
        ("HEAD", A),
        ("main", A),
        ("refs/heads/main", A),
        ("v1", B),
        ("refs/tags/v1", B),
        ("refs/pull/7/head", C),
        ("refs/heads/both", B),
        ("e" * 40, "e" * 40),
    ],
)
def test_a_target_is_resolved_and_tags_are_peeled(target: str, commit: str) -> None:
    assert REFS.resolve(target) == commit
    assert REFS.head == "refs/heads/main"


@pytest.mark.parametrize(
    ("target", "error", "word"),
    [
        ("both", InvalidSpec, "refs/heads/both"),
        ("aaaaaaa", InvalidSpec, "40 digits"),
        ("nope", RevisionNotFound, "nope"),
        ("refs/heads/nope", RevisionNotFound, "nope"),
    ],
)
def test_what_is_not_certain_is_not_guessed(target: str, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        REFS.resolve(target)


@pytest.mark.parametrize("bad", ["-x", "a..b", "a b", "a~1", "a:b", "a^", "x.lock", "a//b", ""])
def test_what_is_no_ref_name_is_refused(bad: str) -> None:
    with pytest.raises(InvalidSpec):
        check_revision(bad)


def _tree(*paths: str, **links: str) -> Tree:
    entries = {path: Entry("100644", path, 1) for path in paths}
    return Tree(entries, {path.replace("__", "/"): target for path, target in links.items()})


def _below(tree: Tree, path: str) -> dict[str, str]:
    return {shown: entry.oid for shown, entry in tree.files_below(path)}


def test_links_inside_the_commit_are_followed_to_files_and_directories() -> None:
    tree = _tree("base/x", "base/deep/y", app__file="../base/x", app__dir="../base/deep")

    assert _below(tree, "app") == {"app/file": "base/x", "app/dir/y": "base/deep/y"}
    assert tree.is_directory("app/dir")
    assert tree.file("app/dir/y") is not None


@pytest.mark.parametrize("target", ["/etc/passwd", "../../etc", "../../../x", "loop"])
def test_links_that_lead_out_or_in_circles_are_refused(target: str) -> None:
    tree = Tree({}, {"a/loop": target})

    with pytest.raises(UnsafePath):
        _below(tree, "a")


def test_a_directory_that_holds_a_link_to_itself_ends() -> None:
    with pytest.raises(UnsafePath, match="circle"):
        _below(_tree("a/x", a__self="."), "a")


def test_a_link_to_nowhere_is_no_file() -> None:
    assert _below(_tree("a/x", a__gone="nothing"), "a") == {"a/x": "a/x"}


def test_links_that_double_at_each_step_end_early() -> None:
    links = {f"d{n}/{name}": f"../d{n + 1}" for n in range(40) for name in "xy"}
    tree = Tree({f"d{n}/f": Entry("100644", "f", 1) for n in range(41)}, links)

    with pytest.raises(LimitExceeded, match="links followed"):
        _below(tree, "d0")


def test_a_tree_that_is_absurdly_deep_is_refused() -> None:
    with pytest.raises(LimitExceeded, match="deeper than"):
        _below(_tree("a/" * 3000 + "f"), "")


def test_files_of_a_name_are_found_once_whatever_the_links_around_them() -> None:
    tree = _tree("a/k", "b/other", c__again="../a", d__k="../b/other", e__k="/etc/k", f__loop=".")

    assert {path: entry.oid for path, entry in tree.named({"k"})} == {
        "a/k": "a/k",
        "d/k": "b/other",
    }


def test_a_sibling_with_the_same_beginning_is_not_below() -> None:
    assert _below(_tree("app/x", "app-evil/y"), "app") == {"app/x": "app/x"}


@pytest.mark.parametrize("bad", ["/a", "..", "../a", "a/../../b", "a\0b", "a\\b"])
def test_a_path_that_leads_out_is_refused(bad: str) -> None:
    with pytest.raises(UnsafePath):
        checked_path(bad)


@BRIEF
@given(st.lists(st.sampled_from(["a", "b", ".", "..", ""]), max_size=6))
def test_a_checked_path_stays_inside(parts: list[str]) -> None:
    try:
        found = checked_path("/".join(parts))
    except UnsafePath:
        return
    assert not found.startswith(("/", ".."))
    assert ".." not in found.split("/")

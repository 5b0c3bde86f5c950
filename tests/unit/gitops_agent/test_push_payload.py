"""Push payloads: the signature first, over the bytes, for each sender in its own way."""

import hashlib
import hmac

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.errors import GitOpsError
from gitops_agent.push.payload import Sender, is_signed, read_push, sender_of

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


SECRET = b"secret"


def _hex(body: bytes) -> str:
    return hmac.new(SECRET, body, hashlib.sha256).hexdigest()


@BRIEF
@given(st.binary(max_size=50))
def test_the_right_signature_is_accepted_and_any_other_byte_refused(body: bytes) -> None:
    headers = {"X-Hub-Signature-256": f"sha256={_hex(body)}"}

    assert is_signed(headers, body, SECRET)
    assert not is_signed(headers, body + b" ", SECRET)
    assert not is_signed(headers, body, b"other")
    assert not is_signed(headers, body, b"")


def test_gitea_is_told_from_github_although_it_sends_both() -> None:
    headers = {
        "X-Gitea-Signature": _hex(b"x"),
        "X-Hub-Signature-256": "sha256=wrong",
        "X-GitHub-Event": "push",
    }

    assert sender_of(headers) is Sender.GITEA
    assert is_signed(headers, b"x", SECRET)


@BRIEF
@given(st.text(max_size=80))
def test_no_header_makes_it_fail(text: str) -> None:
    for name in ("X-Hub-Signature-256", "X-Gitea-Signature"):
        assert not is_signed({name: text}, b"body", SECRET)
    assert is_signed({"X-Gitlab-Token": text}, b"body", SECRET) is (text == "secret")


def test_all_urls_of_a_repository_are_one_key() -> None:
    repository = {
        "clone_url": "https://git.example.com/team/app.git",
        "ssh_url": "git@git.example.com:team/app.git",
        "git_url": "git://git.example.com/team/app.git",
        "html_url": "https://git.example.com/Team/App",
    }

    push = read_push({"X-GitHub-Event": "push"}, orjson.dumps({"repository": repository}))

    assert push is not None
    assert push.index_keys == {"git.example.com/team/app"}


@pytest.mark.parametrize("event", ["ping", "issues", ""])
def test_what_is_no_push_is_ignored(event: str) -> None:
    assert read_push({"X-GitHub-Event": event}, b"anything") is None


@BRIEF
@given(st.binary(max_size=40) | st.builds(orjson.dumps, st.dictionaries(st.text(), st.none())))
def test_no_body_leads_to_anything_but_our_own_error(body: bytes) -> None:
    try:
        read_push({"X-GitHub-Event": "push"}, body)
    except GitOpsError:
        return

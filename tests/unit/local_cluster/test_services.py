"""What the services decide without running: configurations, payloads, signatures."""

from pathlib import Path

import yaml

from local_cluster.services import push_hook
from local_cluster.services.prometheus import ScrapeJob, render_config


def test_a_push_event_names_ref_commits_and_clone_url() -> None:
    line = f"{'0' * 40} {'a' * 40} refs/heads/main\n"

    event = push_hook.payload(line, repository="team/app.git", clone_base_url="http://git:1")

    assert event["ref"] == "refs/heads/main"
    assert event["after"] == "a" * 40
    assert (event["created"], event["deleted"]) == (True, False)
    assert event["repository"]["full_name"] == "team/app"
    assert event["repository"]["clone_url"] == "http://git:1/team/app.git"


def test_a_deleted_branch_says_so() -> None:
    line = f"{'a' * 40} {'0' * 40} refs/heads/gone"

    event = push_hook.payload(line, repository="app.git", clone_base_url="http://git:1")

    assert (event["created"], event["deleted"]) == (False, True)


def test_the_signature_is_githubs() -> None:
    # The example of GitHub's own documentation on validating webhook deliveries.
    expected = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"

    assert push_hook.signature("It's a Secret to Everybody", b"Hello, World!") == expected


def test_the_scrape_configuration_has_a_job_each_with_its_trust() -> None:
    jobs = [
        ScrapeJob("plain", ["127.0.0.1:1"]),
        ScrapeJob(
            "secure",
            ["127.0.0.1:2"],
            scheme="https",
            ca_file=Path("/ca.crt"),
            bearer_token_file=Path("/token"),
            labels={"part": "workloads"},
        ),
    ]

    plain, secure = yaml.safe_load(render_config(jobs, []))["scrape_configs"]

    assert "authorization" not in plain
    assert "tls_config" not in plain
    assert secure["tls_config"] == {"insecure_skip_verify": False, "ca_file": "/ca.crt"}
    assert secure["authorization"]["credentials_file"] == "/token"
    assert secure["static_configs"] == [
        {"targets": ["127.0.0.1:2"], "labels": {"part": "workloads"}}
    ]

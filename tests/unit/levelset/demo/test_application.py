"""What the demo reads in an Application's status, and the objects it makes."""

from levelset.demo import application
from levelset.demo.image import Images

COMMIT = "c" * 40
SYNCED = {
    "sync": {"status": "Synced", "revision": COMMIT},
    "health": {"status": "Healthy"},
    "operationState": {"phase": "Succeeded", "message": "applied 3 objects"},
}


def test_nothing_is_missing_when_the_commit_is_synced_and_healthy() -> None:
    assert application.missing_for_sync(SYNCED, COMMIT) == ""


def test_an_earlier_commit_is_not_enough() -> None:
    missing = application.missing_for_sync(SYNCED, "d" * 40)

    assert missing.startswith("revision cccccccccccc instead of dddddddddddd")


def test_what_the_application_says_is_repeated() -> None:
    status = {
        **SYNCED,
        "health": {"status": "Progressing", "message": "1 of 4 pods"},
        "conditions": [
            {"type": "Ready", "status": "False", "reason": "Progressing", "message": "waiting"}
        ],
    }

    missing = application.missing_for_sync(status, COMMIT)

    assert missing == (
        "health is Progressing: 1 of 4 pods; operation Succeeded: applied 3 objects; "
        "Ready=False Progressing: waiting"
    )


def test_an_application_without_a_status_misses_everything() -> None:
    assert application.missing_for_sync({}, COMMIT).startswith("revision None")


def test_the_policy_covers_the_demos_images_alone() -> None:
    images = Images("registry.test/demo/web", "sha256:1", "sha256:2", "sha256:3", "PEM")

    policy = application.policy(images)

    assert policy["spec"]["images"] == [{"glob": "registry.test/demo/web**"}]
    assert policy["spec"]["authorities"][0]["key"] == {"data": "PEM"}

"""Adopting and releasing on a real API server: nobody's references are ever overwritten."""

import pytest

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.ownership import LiveOwner, OwnerVanished, adopt, owner_reference_to, release
from kube_runtime.resource import CONFIG_MAPS, SECRETS, Json, Resource, controller_of, uid_of

pytestmark = pytest.mark.contract

MANAGER = "levelset-tests"
POD_SETS = Resource("levelset.dev", "v1alpha1", "podsets", "PodSet")


async def make(
    api: ApiClient, namespace: str, name: str, resource: Resource = CONFIG_MAPS, **metadata: object
) -> Json:
    body = {"metadata": {"namespace": namespace, "name": name, **metadata}}
    return await api.create(resource, body)


async def take(api: ApiClient, obj: Json, owner: Json) -> Json | None:
    return await adopt(
        api, CONFIG_MAPS, obj, owner=owner, owner_resource=SECRETS, field_manager=MANAGER
    )


@pytest.fixture
async def owner(api: ApiClient, namespace: str) -> Json:
    return await make(api, namespace, "owner", SECRETS)


async def test_an_orphan_is_adopted_and_released_again(
    api: ApiClient, namespace: str, owner: Json
) -> None:
    orphan = await make(api, namespace, "orphan")

    adopted = await take(api, orphan, owner)
    assert adopted is not None
    controller = controller_of(adopted)
    assert controller is not None
    assert (controller.uid, controller.block_owner_deletion) == (uid_of(owner), True)

    released = await release(
        api, CONFIG_MAPS, adopted, owner_uid=uid_of(owner), field_manager=MANAGER
    )
    assert released is not None
    assert "ownerReferences" not in released["metadata"]


async def test_references_to_others_stay(api: ApiClient, namespace: str, owner: Json) -> None:
    other = await make(api, namespace, "other", SECRETS)
    reference = owner_reference_to(other, SECRETS, controller=False, block=False)
    orphan = await make(api, namespace, "orphan", ownerReferences=[reference])

    adopted = await take(api, orphan, owner)
    assert adopted is not None
    released = await release(
        api, CONFIG_MAPS, adopted, owner_uid=uid_of(owner), field_manager=MANAGER
    )

    assert len(adopted["metadata"]["ownerReferences"]) == 2
    assert released is not None
    assert released["metadata"]["ownerReferences"] == [reference]


async def test_a_namesake_created_meanwhile_is_not_adopted(
    api: ApiClient, namespace: str, owner: Json
) -> None:
    orphan = await make(api, namespace, "orphan")
    await api.delete(CONFIG_MAPS, "orphan", namespace=namespace)
    namesake = await make(api, namespace, "orphan")

    assert await take(api, orphan, owner) is None

    assert await api.get(CONFIG_MAPS, "orphan", namespace=namespace) == namesake


async def test_what_somebody_else_adopted_meanwhile_is_left_to_them(
    api: ApiClient, namespace: str, owner: Json
) -> None:
    orphan = await make(api, namespace, "orphan")
    rival = await make(api, namespace, "rival", SECRETS)
    assert await take(api, orphan, rival) is not None

    assert await take(api, orphan, owner) is None

    live = await api.get(CONFIG_MAPS, "orphan", namespace=namespace)
    assert [r["uid"] for r in live["metadata"]["ownerReferences"]] == [uid_of(rival)]


async def test_a_change_of_anything_else_does_not_get_in_the_way(
    api: ApiClient, namespace: str, owner: Json
) -> None:
    orphan = await make(api, namespace, "orphan")
    await api.patch(
        CONFIG_MAPS, "orphan", {"data": {"a": "b"}}, namespace=namespace, type=PatchType.MERGE
    )

    assert await take(api, orphan, owner) is not None


async def test_an_object_that_is_gone_is_released_without_an_error(
    api: ApiClient, namespace: str, owner: Json
) -> None:
    reference = owner_reference_to(owner, SECRETS)
    mine = await make(api, namespace, "mine", ownerReferences=[reference])
    await api.delete(CONFIG_MAPS, "mine", namespace=namespace)

    released = await release(api, CONFIG_MAPS, mine, owner_uid=uid_of(owner), field_manager=MANAGER)

    assert released is None


@pytest.mark.usefixtures("crds")
async def test_custom_resources_are_adopted_in_the_same_way(
    api: ApiClient, namespace: str, owner: Json
) -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
    }
    body = {
        "apiVersion": POD_SETS.api_version,
        "kind": POD_SETS.kind,
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    orphan = await api.create(POD_SETS, body)

    adopted = await adopt(
        api, POD_SETS, orphan, owner=owner, owner_resource=SECRETS, field_manager=MANAGER
    )

    assert adopted is not None
    assert controller_of(adopted) is not None


async def test_a_living_owner_is_confirmed_and_asked_for_once(
    api: ApiClient, namespace: str, owner: Json
) -> None:
    guard = LiveOwner(api, SECRETS, owner)
    await guard.confirm()
    await api.delete(SECRETS, "owner", namespace=namespace)

    await guard.confirm()

    with pytest.raises(OwnerVanished, match="is gone"):
        await LiveOwner(api, SECRETS, owner).confirm()


async def test_an_owner_created_anew_is_not_the_one_in_the_cache(
    api: ApiClient, namespace: str, owner: Json
) -> None:
    await api.delete(SECRETS, "owner", namespace=namespace)
    await make(api, namespace, "owner", SECRETS)

    with pytest.raises(OwnerVanished, match="it was created anew"):
        await LiveOwner(api, SECRETS, owner).confirm()


async def test_an_owner_that_is_being_deleted_is_as_good_as_gone(
    api: ApiClient, namespace: str
) -> None:
    held = await make(api, namespace, "held", SECRETS, finalizers=["levelset.dev/test"])
    await api.delete(SECRETS, "held", namespace=namespace)

    with pytest.raises(OwnerVanished, match="is being deleted"):
        await LiveOwner(api, SECRETS, held).confirm()

    await api.patch(
        SECRETS,
        "held",
        {"metadata": {"finalizers": None}},
        namespace=namespace,
        type=PatchType.MERGE,
    )

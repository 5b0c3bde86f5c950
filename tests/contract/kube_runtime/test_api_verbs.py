"""Every verb of the client against a real API server."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    KindNotServed,
    LostLeadership,
    NotFound,
    TooManyRequests,
)
from kube_runtime.resource import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    LEASES,
    NAMESPACES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SUBJECT_ACCESS_REVIEWS,
    Json,
    Resource,
    resource_version_of,
    uid_of,
)

pytestmark = pytest.mark.contract


def config_map(namespace: str, name: str = "settings", **data: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


async def test_what_was_created_is_read_back(api: ApiClient, namespace: str) -> None:
    created = await api.create(CONFIG_MAPS, config_map(namespace, colour="red"))

    read = await api.get(CONFIG_MAPS, "settings", namespace=namespace)

    assert read == created


async def test_a_second_create_says_already_exists(api: ApiClient, namespace: str) -> None:
    await api.create(CONFIG_MAPS, config_map(namespace))

    with pytest.raises(AlreadyExists) as caught:
        await api.create(CONFIG_MAPS, config_map(namespace))

    assert caught.value.reason == "AlreadyExists"
    assert caught.value.details["name"] == "settings"


async def test_a_replace_with_an_old_version_is_a_conflict(api: ApiClient, namespace: str) -> None:
    first = await api.create(CONFIG_MAPS, config_map(namespace, colour="red"))
    await api.replace(CONFIG_MAPS, {**first, "data": {"colour": "blue"}})

    with pytest.raises(Conflict):
        await api.replace(CONFIG_MAPS, {**first, "data": {"colour": "green"}})

    assert (await api.get(CONFIG_MAPS, "settings", namespace=namespace))["data"] == {
        "colour": "blue"
    }


@pytest.mark.parametrize(
    ("patch_type", "body"),
    [
        (PatchType.MERGE, {"data": {"size": "big"}}),
        (PatchType.STRATEGIC, {"data": {"size": "big"}}),
        (PatchType.JSON, [{"op": "add", "path": "/data/size", "value": "big"}]),
    ],
)
async def test_each_patch_type_changes_its_field(
    api: ApiClient, namespace: str, patch_type: PatchType, body: Json
) -> None:
    await api.create(CONFIG_MAPS, config_map(namespace, colour="red"))

    patched = await api.patch(CONFIG_MAPS, "settings", body, namespace=namespace, type=patch_type)

    assert patched["data"] == {"colour": "red", "size": "big"}


async def test_apply_refuses_a_field_of_another_manager_until_forced(
    api: ApiClient, namespace: str
) -> None:
    await api.apply(CONFIG_MAPS, config_map(namespace, colour="red"), field_manager="one")
    wish = config_map(namespace, colour="blue")

    with pytest.raises(Conflict):
        await api.apply(CONFIG_MAPS, wish, field_manager="two")
    forced = await api.apply(CONFIG_MAPS, wish, field_manager="two", force=True)

    assert forced["data"] == {"colour": "blue"}


async def test_a_dry_run_changes_nothing(api: ApiClient, namespace: str) -> None:
    await api.create(CONFIG_MAPS, config_map(namespace), dry_run=True)
    await api.apply(CONFIG_MAPS, config_map(namespace), field_manager="x", dry_run=True)

    with pytest.raises(NotFound):
        await api.get(CONFIG_MAPS, "settings", namespace=namespace)


async def test_a_delete_spares_an_object_made_anew(api: ApiClient, namespace: str) -> None:
    first = await api.create(CONFIG_MAPS, config_map(namespace))
    await api.delete(CONFIG_MAPS, "settings", namespace=namespace, uid=uid_of(first))
    second = await api.create(CONFIG_MAPS, config_map(namespace))

    with pytest.raises(Conflict):
        await api.delete(CONFIG_MAPS, "settings", namespace=namespace, uid=uid_of(first))

    assert await api.get(CONFIG_MAPS, "settings", namespace=namespace) == second


async def test_a_delete_spares_an_object_that_has_changed(api: ApiClient, namespace: str) -> None:
    first = await api.create(CONFIG_MAPS, config_map(namespace))
    await api.replace(CONFIG_MAPS, {**first, "data": {"new": "yes"}})

    with pytest.raises(Conflict):
        await api.delete(
            CONFIG_MAPS,
            "settings",
            namespace=namespace,
            resource_version=resource_version_of(first),
            propagation_policy="Background",
            grace_period_seconds=0,
        )


async def test_all_pages_of_a_list_are_joined_and_named(api: ApiClient, namespace: str) -> None:
    names = {f"page-{number}" for number in range(7)}
    await asyncio.gather(*(api.create(CONFIG_MAPS, config_map(namespace, name)) for name in names))

    listed = await api.list(CONFIG_MAPS, namespace=namespace, limit=3)

    assert {item["metadata"]["name"] for item in listed.items} - {"kube-root-ca.crt"} == names
    assert {(item["apiVersion"], item["kind"]) for item in listed.items} == {("v1", "ConfigMap")}
    assert int(listed.resource_version) > 0


async def test_selectors_narrow_a_list(api: ApiClient, namespace: str) -> None:
    labelled = config_map(namespace, "labelled")
    labelled["metadata"]["labels"] = {"tier": "web"}
    await api.create(CONFIG_MAPS, labelled)
    await api.create(CONFIG_MAPS, config_map(namespace, "plain"))

    by_label = await api.list(CONFIG_MAPS, namespace=namespace, label_selector="tier=web")
    by_field = await api.list(
        CONFIG_MAPS, namespace=namespace, field_selector="metadata.name=plain"
    )

    assert [item["metadata"]["name"] for item in by_label.items] == ["labelled"]
    assert [item["metadata"]["name"] for item in by_field.items] == ["plain"]


async def test_a_watch_tells_what_happened_after_its_version(
    api: ApiClient, namespace: str
) -> None:
    start = (await api.list(CONFIG_MAPS, namespace=namespace)).resource_version
    created = await api.create(CONFIG_MAPS, config_map(namespace))
    await api.replace(CONFIG_MAPS, {**created, "data": {"a": "b"}})
    await api.delete(CONFIG_MAPS, "settings", namespace=namespace)

    seen = [
        event.type
        async for event in api.watch(
            CONFIG_MAPS,
            namespace=namespace,
            resource_version=start,
            field_selector="metadata.name=settings",
            timeout_seconds=1,
        )
        if event.type != "BOOKMARK"
    ]

    assert seen == ["ADDED", "MODIFIED", "DELETED"]


async def test_an_invalid_object_names_the_field(api: ApiClient, namespace: str) -> None:
    pod = {
        "metadata": {"name": "bad", "namespace": namespace},
        "spec": {"containers": [{"name": "UPPER", "image": "x"}]},
    }

    with pytest.raises(Invalid) as caught:
        await api.create(PODS, pod)

    assert caught.value.details["causes"][0]["field"] == "spec.containers[0].name"
    assert f"POST /api/v1/namespaces/{namespace}/pods" in caught.value.diagnostics()


async def test_a_body_of_another_kind_is_a_bad_request(api: ApiClient, namespace: str) -> None:
    with pytest.raises(BadRequest):
        await api.create(SECRETS, config_map(namespace))


async def test_an_impersonated_client_has_the_rights_of_that_user(
    api: ApiClient, namespace: str
) -> None:
    somebody = api.impersonating("somebody", ["people"])

    with pytest.raises(Forbidden) as caught:
        await somebody.list(SECRETS, namespace=namespace)

    assert '"somebody"' in caught.value.message
    administrators = await api.impersonating("boss", ["system:masters"]).list(
        SECRETS, namespace=namespace
    )
    assert administrators.items == []


async def test_a_token_is_made_by_posting_to_a_subresource(api: ApiClient, namespace: str) -> None:
    answer = await api.create(
        SERVICE_ACCOUNTS,
        {"spec": {"expirationSeconds": 600}},
        namespace=namespace,
        name="default",
        subresource="token",
    )

    assert answer["status"]["token"].count(".") == 2


async def test_any_other_path_can_be_asked(api: ApiClient) -> None:
    version = await api.request("GET", "/version")

    assert version["major"] == "1"


class Closed:
    """A fence after the lease was lost."""

    def check(self) -> None:
        raise LostLeadership("the lease was lost")


async def test_a_closed_fence_holds_back_every_write_and_no_question(
    api: ApiClient, namespace: str
) -> None:
    await api.create(CONFIG_MAPS, config_map(namespace, colour="red"))
    api.fence = Closed()
    writes: list[Callable[[], Awaitable[Json]]] = [
        lambda: api.create(CONFIG_MAPS, config_map(namespace, "other")),
        lambda: api.replace(CONFIG_MAPS, config_map(namespace)),
        lambda: api.apply(CONFIG_MAPS, config_map(namespace), field_manager="x"),
        lambda: api.delete(CONFIG_MAPS, "settings", namespace=namespace),
        lambda: api.impersonating("boss", ["system:masters"]).create(
            CONFIG_MAPS, config_map(namespace, "other")
        ),
    ]

    for write in writes:
        with pytest.raises(LostLeadership):
            await write()

    review = {"spec": {"user": "x", "resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert "allowed" in (await api.create(SUBJECT_ACCESS_REVIEWS, review))["status"]
    await api.create(CONFIG_MAPS, config_map(namespace, "dry"), dry_run=True)
    names = {item["metadata"]["name"] for item in (await api.list(CONFIG_MAPS)).items}
    assert "settings" in names
    assert "other" not in names


async def test_the_lease_itself_is_written_without_the_fence(
    api: ApiClient, namespace: str
) -> None:
    api.fence = Closed()
    lease = {"metadata": {"name": "leader", "namespace": namespace}, "spec": {}}

    await api.without_fence().create(LEASES, lease)

    assert (await api.get(LEASES, "leader", namespace=namespace))["kind"] == "Lease"


async def test_discovery_finds_kinds_and_says_what_is_missing(api: ApiClient) -> None:
    discovery = await api.discover()

    assert discovery.find("", "Pod") == PODS
    assert discovery.find("", "Namespace") == NAMESPACES
    assert discovery.resource("coordination.k8s.io/v1", "Lease") == LEASES
    assert "watch" in discovery.verbs(PODS)
    assert "status" in discovery.subresources(PODS)
    assert len(discovery.all()) > 40
    assert not discovery.stale_groups
    with pytest.raises(KindNotServed, match="CustomResourceDefinition"):
        discovery.find("example.com", "Widget")


async def test_a_kind_that_comes_later_is_found_by_looking_again(
    api: ApiClient, namespace: str
) -> None:
    group = f"{namespace}.example.com"
    await api.discover()
    definition = await api.create(CUSTOM_RESOURCE_DEFINITIONS, widget_definition(group))

    try:
        found = await served(api, group)
    finally:
        await api.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])

    assert found.api_version == f"{group}/v1"


async def test_a_version_that_the_server_forgot_is_gone(api: ApiClient, namespace: str) -> None:
    group = f"{namespace}.example.com"
    definition = await api.create(CUSTOM_RESOURCE_DEFINITIONS, widget_definition(group))

    async def from_the_beginning() -> None:
        async with asyncio.timeout(20):
            while True:
                try:
                    async for _ in api.watch(widgets, resource_version="1", timeout_seconds=5):
                        pass
                except TooManyRequests:  # the server's cache of a kind that is new to it fills
                    await asyncio.sleep(0.1)

    try:
        widgets = await served(api, group)
        await api.list(widgets)

        with pytest.raises(Gone) as caught:  # the server began to remember when the kind came
            await from_the_beginning()
    finally:
        await api.delete(CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"])

    assert caught.value.reason == "Expired"


async def served(api: ApiClient, group: str) -> Resource:
    """Wait until the server serves the widgets of this group."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await (await api.discover()).find_fresh(group, "Widget")
            except KindNotServed:
                await asyncio.sleep(0.1)


def widget_definition(group: str) -> Json:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }

"""Puts the process together: everything is made here once and passed in."""

import ssl
from dataclasses import dataclass

import aiohttp

from exporters.instrument import Instruments
from exporters.server import build_server
from kube_runtime.api import ApiClient
from kube_runtime.controller import Controller
from kube_runtime.freshness import Freshness
from kube_runtime.informer import Informer
from kube_runtime.process import run_process
from kube_runtime.resource import (
    CONFIG_MAPS,
    NAMESPACES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Json,
    Key,
    Resource,
)
from supply_chain import handlers, names
from supply_chain.admission.judge import Judge
from supply_chain.admission.pull_secrets import PullSecrets
from supply_chain.admission.server import AdmissionServer
from supply_chain.cache import VerdictCache
from supply_chain.certificates.rotation import Rotation, Target
from supply_chain.certificates.serving import ServingCertificate
from supply_chain.errors import SupplyChainError
from supply_chain.materials import Materials
from supply_chain.metrics import Metrics
from supply_chain.objects import ObjectReader
from supply_chain.policies import PolicyIndex
from supply_chain.reconciler import PolicyReconciler
from supply_chain.registry.auth import parse_token_hosts
from supply_chain.registry.transport import Transport, TransportSettings
from supply_chain.settings import SupplyChainSettings

_KINDS = (names.CLUSTER_IMAGE_POLICIES, names.IMAGE_POLICIES)
_QPS, _BURST = 100.0, 200
_CONNECTIONS_PER_REGISTRY = 32


async def run(settings: SupplyChainSettings) -> int:
    """Connect, build and run until told to stop."""
    instruments = Instruments(settings.process.name)
    api = await ApiClient.connect(
        kubeconfig=settings.process.kubeconfig,
        context=settings.process.context,
        user_agent="levelset-supply-chain",
        qps=_QPS,
        burst=_BURST,
        instrumentation=instruments.runtime,
    )
    # No cookies: what one registry sets must not travel with the next tenant's request.
    session = aiohttp.ClientSession(
        # Bounded per host alone: a registry that is slow must not take the others' connections.
        connector=aiohttp.TCPConnector(
            ssl=_registry_tls(settings), limit=0, limit_per_host=_CONNECTIONS_PER_REGISTRY
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
    )
    async with api, session:
        return await _run(settings, instruments, api, session)


async def _run(
    settings: SupplyChainSettings,
    instruments: Instruments,
    api: ApiClient,
    session: aiohttp.ClientSession,
) -> int:
    metrics = Metrics(instruments)
    metrics.insecure_hosts(len(settings.insecure_registries))
    watched = _watched(settings, instruments, api, metrics)
    certificate = ServingCertificate(
        api,
        settings.process.namespace,
        tick_seconds=settings.certificate_tick_seconds,
        observe_expiry=metrics.certificate_loaded,
    )
    server = _server(settings, watched, session, metrics, certificate)
    pages = build_server(
        settings.metrics,
        instruments,
        api=api,
        ready=lambda: watched.index.has_synced() and certificate.is_fresh(),
    )
    controllers = {
        each.resource: _controller(each, watched, api, instruments) for each in watched.kinds
    }
    freshness = {
        each.resource: Freshness(each, instrumentation=instruments.runtime)
        for each in watched.kinds
    }
    await pages.open()  # a taken port is one line, before anything runs
    return await run_process(
        settings.process,
        api=api,
        register=lambda registry: handlers.register(
            registry,
            {kind: (each.queue, freshness[kind]) for kind, each in controllers.items()},
        ),
        always=[
            *(informer.run for informer in [*watched.kinds, watched.namespaces]),
            *(each.run for each in freshness.values()),
            certificate.run,
            server.run,
            pages.run,
        ],
        leading=[
            _rotation(settings, api).run,
            *(controller.run for controller in controllers.values()),
        ],
        # Not the certificate: the leader makes it, and it leads only once this is true.
        ready=watched.index.has_synced,
        required_kinds=_KINDS,
        instrumentation=instruments.runtime,
    )


def _server(
    settings: SupplyChainSettings,
    watched: "_Watched",
    session: aiohttp.ClientSession,
    metrics: Metrics,
    certificate: ServingCertificate,
) -> AdmissionServer:
    return AdmissionServer(
        _judge(settings, watched, session, metrics),
        certificate.context,
        host=settings.admission_host,
        port=settings.admission_port,
        is_ready=watched.index.has_synced,
        observe=metrics.reviewed,
    )


@dataclass(frozen=True, slots=True)
class _Watched:
    """What is known of the cluster, and read from it on demand."""

    kinds: tuple[Informer, ...]
    namespaces: Informer
    index: PolicyIndex
    materials: Materials
    pull_secrets: PullSecrets


def _watched(
    settings: SupplyChainSettings, instruments: Instruments, api: ApiClient, metrics: Metrics
) -> _Watched:
    def informer(resource: Resource) -> Informer:
        return Informer(api, resource, instrumentation=instruments.runtime)

    kinds = tuple(informer(resource) for resource in _KINDS)
    namespaces = informer(NAMESPACES)
    secrets = ObjectReader(api, SECRETS)
    index = PolicyIndex(
        kinds,
        namespaces,
        ObjectReader(api, NAMESPACES),
        install_namespace=settings.process.namespace,
    )

    def count(_old: Json | None, _new: Json | None) -> None:
        metrics.policies_changed(index.all())

    for each in kinds:
        each.on_change(count)
    return _Watched(
        kinds=kinds,
        namespaces=namespaces,
        index=index,
        materials=Materials(secrets=secrets, config_maps=ObjectReader(api, CONFIG_MAPS)),
        pull_secrets=PullSecrets(
            secrets=secrets, service_accounts=ObjectReader(api, SERVICE_ACCOUNTS)
        ),
    )


def _judge(
    settings: SupplyChainSettings,
    watched: _Watched,
    session: aiohttp.ClientSession,
    metrics: Metrics,
) -> Judge:
    transport = Transport(
        session,
        TransportSettings(
            insecure_registries=frozenset(settings.insecure_registries),
            token_hosts=parse_token_hosts(settings.token_hosts),
            request_timeout_seconds=settings.registry_request_seconds,
        ),
        metrics.registry_asked,
    )
    cache = VerdictCache(
        allow_seconds=settings.allow_cache_seconds,
        deny_seconds=settings.deny_cache_seconds,
        observe=metrics.cache_used,
        observe_size=metrics.cache_size,
    )
    return Judge(
        policies=watched.index,
        materials=watched.materials,
        pull_secrets=watched.pull_secrets,
        transport=transport,
        cache=cache,
        deadline_seconds=settings.verification_seconds,
        observe=metrics.judged,
    )


def _controller(
    informer: Informer, watched: _Watched, api: ApiClient, instruments: Instruments
) -> Controller:
    reconciler = PolicyReconciler(api, informer, watched.index, watched.materials)
    controller = Controller(
        informer.resource.kind.lower(),
        reconciler,
        workers=2,
        resync_keys=lambda: list(informer.store.keys()),
        instrumentation=instruments.runtime,
    )

    def changed(old: Json | None, new: Json | None) -> None:
        present = new or old
        if present is not None:
            controller.queue.add(Key.of(present))

    informer.on_change(changed)
    return controller


def _registry_tls(settings: SupplyChainSettings) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if (file := settings.registry_ca_file) is not None:
        try:
            context.load_verify_locations(cafile=file)
        except (OSError, ssl.SSLError) as error:
            raise SupplyChainError(
                f"--registry-ca-file {file}: expected a PEM file of certificates: {error}",
                reason="BadSettings",
            ) from error
    return context


def _rotation(settings: SupplyChainSettings, api: ApiClient) -> Rotation:
    target = Target(
        namespace=settings.process.namespace,
        service=settings.service_name,
        dns_names=settings.certificate_names,
        url=settings.webhook_url,
    )
    return Rotation(api, target, settings.lifetimes, tick_seconds=settings.certificate_tick_seconds)

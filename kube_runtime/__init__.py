"""What every controller needs between Kubernetes and its own decisions.

To read it in order: `resource` and `errors` name things; `api` speaks to the server; `informer`
keeps a `store` level with it; `workqueue` and `controller` turn changes into reconciles;
`expectations` and `ownership` keep those from acting on a stale view or on others' objects;
`lease` lets one process lead; `conditions` and `events` tell users; `process` and `settings` are
the shell around all of it. docs/design/002-kube-runtime.md says why each is as it is.
Modules are imported, not names: `from kube_runtime import expectations`. Those that are not named
in a design page or here (api_*, transport*, informer_*, lease_record, …) are internal.
"""

__all__ = [
    "api",
    "clock",
    "conditions",
    "controller",
    "discovery",
    "errors",
    "events",
    "expectations",
    "freshness",
    "informer",
    "instrumentation",
    "lease",
    "logs",
    "ownership",
    "process",
    "resource",
    "selectors",
    "settings",
    "store",
    "workqueue",
]

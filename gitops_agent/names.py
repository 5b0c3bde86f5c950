"""Every label, annotation and constant name that the agent writes or reads.

One module, so that a name has one spelling; the field manager is load-bearing: changing it orphans
every field that earlier versions own.
"""

from typing import Final

from kube_runtime.resource import Resource

GROUP: Final = "levelset.dev"
VERSION: Final = "v1alpha1"
FIELD_MANAGER: Final = "levelset-gitops"
COMPONENT: Final = "levelset-gitops-agent"

APPLICATIONS: Final = Resource(GROUP, VERSION, "applications", "Application")

OWNER_ANNOTATION: Final = "levelset.dev/owner"
"""Whose object this is: `<application uid>:<group>/<kind>:<namespace>/<name>` of the object itself."""

APPLICATION_ANNOTATION: Final = "levelset.dev/application"
"""The owner for a reader's eye: `<namespace>/<name>` of the Application."""

APPLICATION_LABEL: Final = "levelset.dev/application-uid"
"""Filters our watches on the server; it proves nothing, since operators copy labels."""

SYNC_ANNOTATION: Final = "levelset.dev/sync"
"""A request to sync: an id, or JSON with id, revision and prune; answered in status.operationState.id."""

OBJECT_OPTIONS_ANNOTATION: Final = "levelset.dev/sync-options"
"""On an object in Git: `Prune=false` keeps it when it leaves Git."""

SECRET_TYPE_LABEL: Final = "levelset.dev/secret-type"  # noqa: S105 - a label's name
REPOSITORY_SECRET_TYPE: Final = "repository"  # noqa: S105 - a label's value

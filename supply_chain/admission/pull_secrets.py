"""The credentials with which a pod would pull its images, and no others."""

from collections.abc import Iterable

from supply_chain.admission.images import PodTemplate
from supply_chain.materials import Reader
from supply_chain.registry import credentials


class PullSecrets:
    """Reads the pull Secrets that a pod names, or its ServiceAccount, in the pod's namespace."""

    def __init__(self, *, secrets: Reader, service_accounts: Reader) -> None:
        self._secrets = secrets
        self._service_accounts = service_accounts

    async def keychain(self, namespace: str, template: PodTemplate) -> credentials.Keychain:
        """Return the pod's keychain; raises MaterialUnavailable if the API cannot tell."""
        names = list(template.pull_secrets)
        names += await self._of_account(namespace, template.service_account)
        documents = []
        for name in dict.fromkeys(names):
            secret = await self._secrets.get(namespace, name)
            # The kubelet passes over a Secret that is not there, too.
            if secret and (document := credentials.pull_secret_document(secret)):
                documents.append(document)
        return credentials.keychain(documents)

    async def _of_account(self, namespace: str, name: str) -> Iterable[str]:
        account = await self._service_accounts.get(namespace, name)
        listed = (account or {}).get("imagePullSecrets") or []
        return [entry["name"] for entry in listed if entry.get("name")]

"""A process of its own that changes the status of pods, so that its work is not measured.

Called by test_informer_bench: `python -m tests.bench.informer_writer KUBECONFIG NAMESPACE PODS ROUNDS`.
"""

import asyncio
import sys

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.resource import PODS


async def write(kubeconfig: str, namespace: str, pods: int, rounds: int) -> None:
    """Change each pod once a round, as fast as the API server lets us."""
    client = await ApiClient.connect(kubeconfig=kubeconfig, user_agent="levelset-bench", qps=0)
    async with client as api:
        for turn in range(rounds):
            status = {"phase": "Running", "podIP": f"10.0.0.{turn}"}
            await asyncio.gather(
                *(
                    api.patch(
                        PODS,
                        f"pod-{number}",
                        {"status": status},
                        namespace=namespace,
                        subresource="status",
                        type=PatchType.MERGE,
                    )
                    for number in range(pods)
                )
            )


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))

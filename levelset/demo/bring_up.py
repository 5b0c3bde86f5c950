"""Step: the programs that are needed, and the cluster."""

import asyncio

from levelset.demo.narrator import Step
from levelset.demo.stage import CLUSTER, Options
from local_cluster.embedded import EmbeddedProvider
from local_cluster.provider import Cluster, ClusterPlan


async def bring_up(options: Options, step: Step) -> Cluster:
    """Make the cluster; where real nodes cannot be had, it says so and simulates them."""
    plan = ClusterPlan(CLUSTER, nodes=options.nodes)
    cluster = await asyncio.to_thread(EmbeddedProvider().up, plan, step.note)
    ready = [node.name for node in cluster.nodes if node.is_ready]
    kind = "real" if cluster.commands else "simulated"
    step.fact("nodes", f"{', '.join(ready)} ({kind})")
    step.fact("API server", cluster.server)
    step.summary = f"{len(ready)} {kind} nodes Ready"
    return cluster

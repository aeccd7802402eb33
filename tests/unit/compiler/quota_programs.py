"""Small programs of one cluster for the backends that write quota trees."""

from __future__ import annotations

from datetime import date
from typing import Any

from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Policy,
    Queue,
)

VERSIONS = {
    Engine.KAI: "0.17",
    Engine.KUEUE: "0.18",
    Engine.VOLCANO: "1.16",
    Engine.KOORDINATOR: "1.8",
    Engine.ACK: "1.21",
    Engine.YUNIKORN: "1.8",
    Engine.NATIVE: "1.34",
}


def gpu_pool(model: str, n_machines: int = 2) -> NodePool:
    """Machines of 10 cores, 100 GiB and 8 GPUs."""
    gpus = Accelerator(model=model, count=8)
    return NodePool(id=model, cpu=10, memory="100Gi", accelerator=gpus, max_nodes=n_machines)


def program_of(engine: Engine, *queues: Queue, pools: tuple[NodePool, ...] = (), **said: Any) -> Program:
    """Return the one cluster of a policy; what is said of it and is not a field of a policy, is said of the cluster."""
    of_policy = {key: said.pop(key) for key in ("priority_classes",) if key in said}
    cluster = Cluster(name="c", engine=engine, engine_version=VERSIONS[engine], pools=pools, **said)
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=queues,
        node_pools=pools,
        environments=(Environment(name="prod", clusters=(cluster,)),),
        **of_policy,
    )
    graph = build_graph(declare(policy), date(2026, 11, 21))
    return lower(graph, graph.scopes[-1])

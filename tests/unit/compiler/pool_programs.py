"""Policies of node pools, and their programs."""

from __future__ import annotations

from datetime import date

from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
    Resources,
)

DWS = ProvisioningPlan(id="dws")


QUEUED = Gke(
    release_channel="none", auto_repair=False, auto_upgrade=False, location_policy="ANY", reservation_affinity="none"
)


H100 = Accelerator(model="h100", count=8, provider_name="nvidia-h100-80gb")


L4 = Accelerator(model="l4", count=1)


def policy_of(*pools: NodePool, engine: Engine = Engine.KAI, cluster: str = "main") -> Policy:
    return Policy(
        organisation=Organisation(name="acme"),
        queues=(Queue(id="a", namespaces=("a",), guaranteed=Resources(gpu={"h100": 8, "l4": 1})),),
        node_pools=pools,
        provisioning_plans=(DWS,),
        environments=(
            Environment(
                name="prod", clusters=(Cluster(name=cluster, engine=engine, engine_version="1.0", pools=pools),)
            ),
        ),
    )


def program_of(*pools: NodePool, engine: Engine = Engine.KAI, cluster: str = "main") -> Program:
    graph = build_graph(declare(policy_of(*pools, engine=engine, cluster=cluster)), date(2026, 11, 21))
    return lower(graph, next(scope for scope in graph.scopes if scope.cluster is not None))


DWS_POOL = NodePool(
    id="dws",
    provider=QUEUED,
    machine_type="a3-highgpu-8g",
    accelerator=H100,
    max_nodes=16,
    provisioning=DWS,
    taints=(GPU_TAINT,),
)

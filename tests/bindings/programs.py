"""The cluster on which these tests bind workloads, once for each engine."""

from __future__ import annotations

from datetime import date

from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program
from apportion_policy import (
    DEFAULT_PRIORITY_CLASSES,
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    Gke,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
    Resources,
)

AS_OF = date(2026, 11, 21)

PLAN = ProvisioningPlan(id="dws", max_run_duration="1d")
H100 = NodePool(
    id="h100",
    provider=Fixed(),
    cpu=64,
    memory="512Gi",
    accelerator=Accelerator(model="h100", count=8, memory="80Gi"),
    min_nodes=2,
    max_nodes=4,
    taints=(GPU_TAINT,),
)
A100 = H100.model_copy(update={"id": "a100", "accelerator": Accelerator(model="a100", count=8, memory="40Gi")})
QUEUED = NodePool(
    id="queued-h100",
    provider=Gke(version="1.32.2-gke.1000000"),
    machine_type="a3-highgpu-8g",
    cpu=200,
    memory="1800Gi",
    accelerator=Accelerator(model="h100", count=8, memory="80Gi"),
    min_nodes=0,
    max_nodes=16,
    provisioning=PLAN,
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=16, memory="64Gi", min_nodes=1, max_nodes=1)

VISION = Queue(
    id="vision",
    namespaces=("vision", "vision-dev"),
    guaranteed=Resources(gpu=8),
    limit=Resources(gpu=16),
    gpu_sharing=True,
)
SPEECH = Queue(id="speech", namespaces=("speech",), pools=(ORDINARY,), priority_classes=("train",))
BY_MODEL = Queue(
    id="vision", namespaces=("vision",), guaranteed=Resources(gpu={"h100": 8}), limit=Resources(gpu={"h100": 16})
)


def program(
    engine: str,
    *queues: Queue,
    pools: tuple[NodePool, ...] = (H100, ORDINARY),
    plan: ProvisioningPlan = PLAN,
) -> Program:
    """Return one cluster with an engine; `research` is the parent of the queues."""
    policy = Policy(
        organisation=Organisation(name="acme", owner="@acme/platform"),
        queues=(Queue(id="research", children=queues or (VISION, SPEECH)),),
        priority_classes=DEFAULT_PRIORITY_CLASSES,
        node_pools=pools,
        provisioning_plans=(plan,) if any(pool.provisioning for pool in pools) else (),
        environments=(
            Environment(
                name="prod",
                clusters=(Cluster(name="gpu", engine=Engine(engine), engine_version="1.0.0", pools=pools),),
            ),
        ),
    )
    graph = build_graph(declare(policy), AS_OF)
    return lower(graph, graph.scope("prod", "gpu"))

"""One organisation on a cluster of every engine, each with machines of one GPU model and ordinary ones."""

from change import STATE
from organisation import ORGANISATIONS

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
)

GPU = NodePool(
    id="gpu",
    provider=Fixed(),
    cpu=96,
    memory="960Gi",
    accelerator=Accelerator(model="a100", count=8, memory="80Gi"),
    min_nodes=4,
    max_nodes=4,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=32, memory="128Gi", min_nodes=4, max_nodes=4)

VERSIONS = {
    Engine.KAI: "0.17.0",
    Engine.KUEUE: "0.18.3",
    Engine.VOLCANO: "1.15.0",
    Engine.KOORDINATOR: "1.8.0",
    Engine.ACK: "1.26.8",
    Engine.YUNIKORN: "1.7.0",
    Engine.NATIVE: "1.36",
}

policy = Policy(
    organisation=Organisation(name="lab", owner="@lab/platform"),
    queues=ORGANISATIONS[STATE](),
    priority_classes=(
        PriorityClass(name="batch", value=50, preemptible=True),
        PriorityClass(name="urgent", value=90, preemptible=True),
    ),
    node_pools=(GPU, ORDINARY),
    environments=tuple(
        Environment(
            name=f"on-{engine.value}",
            clusters=(
                Cluster(
                    name="one",
                    engine=engine,
                    engine_version=version,
                    kubernetes_version="1.36",
                    pools=(GPU, ORDINARY),
                ),
            ),
        )
        for engine, version in VERSIONS.items()
    ),
)

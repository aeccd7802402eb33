"""Inference services split between CPU nodes and GPU nodes: a queue for each kind of node, with quotas based on the trace.

At the peak, instances of the trace request 394,000 cores on CPU nodes and 3,412 GPUs on GPU nodes. Inference is not
preemptible and therefore limited to its guarantee.
"""

from apportion_policy import (
    BINPACK,
    GPU_TAINT,
    INFERENCE,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Placement,
    Policy,
    Queue,
    Resources,
)

CPU_NODES = NodePool(id="cpu-nodes", provider=Fixed(), cpu=192, memory="1Ti", min_nodes=2400, max_nodes=2400)
GPU_NODES = NodePool(
    id="gpu-nodes",
    provider=Fixed(),
    cpu=128,
    memory="1Ti",
    accelerator=Accelerator(model="gpu", count=8, memory="24Gi"),
    min_nodes=450,
    max_nodes=450,
    taints=(GPU_TAINT,),
)
SERVING = Queue(id="serving", owner="@acme/platform", guaranteed=Resources(cpu=448_000, memory="2336Ti", gpu=3520))
SERVING_CPU = Queue(
    id="serving-cpu",
    parent=SERVING,
    namespaces=("serving-cpu",),
    guaranteed=Resources(cpu=416_000, memory="2144Ti"),
    priority_classes=(INFERENCE,),
)
SERVING_GPU = Queue(
    id="serving-gpu",
    parent=SERVING,
    namespaces=("serving-gpu",),
    guaranteed=Resources(cpu=32_000, memory="192Ti", gpu=3520),
    priority_classes=(INFERENCE,),
)


def _on(name: str, share: str) -> Environment:
    cluster = Cluster(
        name="dlrm",
        engine=Engine.KAI,
        engine_version="0.17.0",
        pools=(CPU_NODES, GPU_NODES),
        share=share,
        placement=Placement(gpu=BINPACK, cpu=BINPACK),
    )
    return Environment(name=name, clusters=(cluster,))


policy = Policy(
    organisation=Organisation(name="dlrm", owner="@acme/platform"),
    queues=(SERVING, SERVING_CPU, SERVING_GPU),
    priority_classes=(INFERENCE,),
    node_pools=(CPU_NODES, GPU_NODES),
    environments=(_on("whole", "1"), _on("tight", "9/10")),
)

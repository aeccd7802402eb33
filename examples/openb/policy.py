"""Three teams on the GPU cluster of the openb trace: serving, development and training, with quotas based on the trace.

Latency-sensitive workloads request 70% of the trace's GPU time, development 26% and best effort 4%. Serving is not
preemptible and therefore limited to its guarantee; training uses idle GPUs, which other teams can reclaim.
"""

from apportion_policy import (
    BINPACK,
    BUILD,
    BUILD_PREEMPTIBLE,
    GPU_TAINT,
    INFERENCE,
    SPREAD,
    TRAIN,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    KaiSettings,
    NodePool,
    Organisation,
    Placement,
    PlacementStrategy,
    Policy,
    Queue,
    Resources,
)

MACHINES = NodePool(
    id="machines",
    provider=Fixed(),
    cpu=96,
    memory="384Gi",
    accelerator=Accelerator(model="g2", count=8, memory="24Gi"),
    min_nodes=776,
    max_nodes=777,
    taints=(GPU_TAINT,),
)
"""The nodes of the trace have several sizes; this is the equivalent number of machines with eight devices."""
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=96, memory="384Gi", min_nodes=310, max_nodes=310)
A_HUNDREDTH = MACHINES.model_copy(update={"id": "a-hundredth", "min_nodes": 8, "max_nodes": 9})
STAY = KaiSettings(max_consolidation_preemptees=0)
"""Jobs of the trace have no checkpoints: a job that is moved to make room for another restarts from the beginning."""
CLUSTER = Queue(id="cluster", owner="@acme/platform", guaranteed=Resources(gpu=6200))
SERVING = Queue(
    id="serving",
    parent=CLUSTER,
    namespaces=("serving",),
    guaranteed=Resources(gpu=4300),
    priority_classes=(INFERENCE,),
)
DEVELOPMENT = Queue(
    id="development",
    parent=CLUSTER,
    namespaces=("development",),
    guaranteed=Resources(gpu=1600),
    priority_classes=(BUILD, BUILD_PREEMPTIBLE),
    preempt_min_runtime="10m",
    reclaim_min_runtime="10m",
)
TRAINING = Queue(
    id="training",
    parent=CLUSTER,
    namespaces=("training",),
    guaranteed=Resources(gpu=300),
    priority_classes=(TRAIN,),
    reclaim_min_runtime="10m",
)


def _on(
    name: str,
    pool: NodePool,
    share: str = "1",
    *,
    gpu: PlacementStrategy = BINPACK,
    kai: KaiSettings = KaiSettings(),  # noqa: B008 - it is frozen.
) -> Environment:
    placement = Placement(gpu=gpu, cpu=gpu)
    cluster = Cluster(
        name="openb",
        engine=Engine.KAI,
        engine_version="0.17.0",
        pools=(pool, ORDINARY),
        share=share,
        placement=placement,
        kai=kai,
    )
    return Environment(name=name, clusters=(cluster,))


policy = Policy(
    organisation=Organisation(name="openb", owner="@acme/platform"),
    queues=(CLUSTER, SERVING, DEVELOPMENT, TRAINING),
    priority_classes=(INFERENCE, BUILD, BUILD_PREEMPTIBLE, TRAIN),
    node_pools=(MACHINES, A_HUNDREDTH, ORDINARY),
    environments=(
        _on("whole", MACHINES),
        _on("spread", MACHINES, gpu=SPREAD),
        _on("hundredth", A_HUNDREDTH, "1/100"),
        _on("busy", A_HUNDREDTH, "1/100", kai=STAY),
    ),
)

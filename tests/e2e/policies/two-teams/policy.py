"""Two teams on two clusters, one with KAI and one with plain Kubernetes, for tests of admission."""

from apportion_policy import (
    GPU_TAINT,
    TRAIN,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
)

GPU = NodePool(
    id="gpu",
    provider=Fixed(),
    cpu=96,
    memory="960Gi",
    accelerator=Accelerator(model="a100", count=8, memory="80Gi"),
    min_nodes=2,
    max_nodes=2,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=32, memory="128Gi", min_nodes=2, max_nodes=2)

INTERACTIVE = PriorityClass(name="interactive", value=90, preemptible=False, queues=("beta",))
# Above KAI's threshold of 100 and yet preemptible: workloads of this class need the preemptibility label.
URGENT = PriorityClass(name="urgent", value=200, preemptible=True, queues=("beta",))

RESEARCH = Queue(
    id="research",
    owner="@lab/leads",
    guaranteed=Resources(gpu=8, cpu=8, memory="32Gi"),
    limit=Resources(gpu=8, cpu=64, memory="256Gi"),
    children=(
        Queue(
            id="alpha",
            owner="@lab/alpha",
            namespaces=("alpha",),
            guaranteed=Resources(gpu=4),
            limit=Resources(gpu=4, cpu=8, memory="32Gi"),
            gpu_sharing=True,
        ),
        Queue(
            id="beta",
            owner="@lab/beta",
            namespaces=("beta", "beta-serving"),
            guaranteed=Resources(gpu=4, cpu=8, memory="32Gi"),
            limit=Resources(gpu=6, cpu=16, memory="64Gi"),
        ),
    ),
)

policy = Policy(
    organisation=Organisation(name="lab", owner="@lab/platform"),
    queues=(RESEARCH,),
    priority_classes=(TRAIN, INTERACTIVE, URGENT),
    node_pools=(GPU, ORDINARY),
    environments=(
        Environment(
            name="queued",
            clusters=(Cluster(name="one", engine=Engine.KAI, engine_version="0.17.0", pools=(GPU, ORDINARY)),),
        ),
        Environment(
            name="plain",
            clusters=(Cluster(name="two", engine=Engine.NATIVE, engine_version="1.36", pools=(GPU, ORDINARY)),),
        ),
    ),
)

"""A limit by model over machines that are there and machines that are queued for, on a department and on its team."""

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

ON_REQUEST = Gke(
    version="1.33.2-gke.1240000",
    release_channel="none",
    auto_upgrade=False,
    auto_repair=False,
    reservation_affinity="none",
    location_policy="ANY",
)
DWS = ProvisioningPlan(id="dws")
H100 = NodePool(
    id="h100", cpu=190, memory="1Ti", accelerator=Accelerator(model="h100", count=8), max_nodes=4, taints=(GPU_TAINT,)
)
QUEUED = H100.model_copy(update={"id": "h100-dws", "provider": ON_REQUEST, "provisioning": DWS})
L4 = H100.model_copy(update={"id": "l4", "accelerator": Accelerator(model="l4", count=2)})
ORDINARY = NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=4)

RESEARCH = Queue(id="research", limit=Resources(gpu={"h100": 24, "l4": 4}))  # AP618
VISION = Queue(  # AP618
    id="vision",
    parent=RESEARCH,
    namespaces=("vision",),
    guaranteed=Resources(gpu={"h100": 8}, cpu=64, memory="256Gi"),
    limit=Resources(gpu={"h100": 16}),
)
POOLS = (H100, QUEUED, L4, ORDINARY)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=POOLS,
    provisioning_plans=(DWS,),
    queues=(RESEARCH, VISION),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KUEUE, engine_version="0.18.3", pools=POOLS),),
        ),
    ),
)

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
)

DWS = ProvisioningPlan(id="dws")
QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = NodePool(
    id="h100", provider=QUEUED, accelerator=Accelerator(model="h100", count=8), max_nodes=8, provisioning=DWS
)
L4 = NodePool(id="l4", provider=Gke(), accelerator=Accelerator(model="l4", count=2), max_nodes=8, taints=(GPU_TAINT,))
ORDINARY = NodePool(id="ordinary", provider=Gke(), max_nodes=8)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, L4, ORDINARY),
    provisioning_plans=(DWS,),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="staging",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(H100, L4)),),  # AP606
        ),
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(H100, ORDINARY)),
                Cluster(name="gpu-2", engine=Engine.KAI, engine_version="0.17.0", pools=(H100,)),  # AP606
            ),
        ),
    ),
)

from apportion_policy import (
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
ORDINARY = NodePool(id="ordinary", provider=Gke(), max_nodes=8)


def cluster(name: str, *pools: NodePool) -> Cluster:
    return Cluster(name=name, engine=Engine.KAI, engine_version="0.17.0", pools=pools)  # AP606


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, ORDINARY),
    provisioning_plans=(DWS,),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                cluster("gpu-1", H100, ORDINARY),
                cluster("gpu-2", H100),  # AP606 called here
            ),
        ),
    ),
)

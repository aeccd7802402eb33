"""GKE taints the GPU pool of a cluster that has an ordinary one, and queued pools; racks are tainted by whoever runs them."""

from apportion_policy import (
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
    Taint,
)

DWS = ProvisioningPlan(id="dws")
QUEUED = Gke(reservation_affinity="none", location_policy="ANY", auto_repair=False)
RACK = NodePool(
    id="rack",
    provider=Fixed(),
    accelerator=Accelerator(model="a100", count=4),
    max_nodes=4,
    taints=(Taint(key="acme.example/gpu", effect="NoExecute"),),
)
CLOUD = NodePool(id="cloud", provider=Gke(), accelerator=Accelerator(model="l4", count=2), max_nodes=4)
ON_REQUEST = NodePool(
    id="on-request", provider=QUEUED, accelerator=Accelerator(model="h100", count=8), max_nodes=4, provisioning=DWS
)
ORDINARY = NodePool(id="ordinary", provider=Gke(), max_nodes=8)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(RACK, CLOUD, ON_REQUEST, ORDINARY),
    provisioning_plans=(DWS,),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="racks", engine=Engine.KAI, engine_version="0.17.0", pools=(RACK,)),
                Cluster(name="cloud", engine=Engine.KAI, engine_version="0.17.0", pools=(CLOUD, ON_REQUEST, ORDINARY)),
            ),
        ),
    ),
)

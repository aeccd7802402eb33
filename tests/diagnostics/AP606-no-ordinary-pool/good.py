"""An ordinary pool stands beside the queued one; a plan of the cluster autoscaler's own class starts nodes for any work."""

from apportion_policy import (
    Accelerator,
    Ack,
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
ATOMIC = ProvisioningPlan(id="atomic", provisioning_class="best-effort-atomic-scale-up.autoscaling.x-k8s.io")
QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = NodePool(
    id="h100", provider=QUEUED, accelerator=Accelerator(model="h100", count=8), max_nodes=8, provisioning=DWS
)
ORDINARY = NodePool(id="ordinary", provider=Gke(), max_nodes=8)
BATCH = NodePool(id="batch", provider=Ack(), max_nodes=8, provisioning=ATOMIC)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100, ORDINARY, BATCH),
    provisioning_plans=(DWS, ATOMIC),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=(H100, ORDINARY)),
                Cluster(name="batch-1", engine=Engine.KAI, engine_version="0.17.0", pools=(BATCH,)),
            ),
        ),
    ),
)

"""1,000 nodes a zone in two zones; a larger pool whose plan bounds one request; a plan of another class."""

from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = Accelerator(model="h100", count=8)

DWS = ProvisioningPlan(id="dws", max_nodes_per_request=1000)
OPEN = ProvisioningPlan(id="open")
CHECK = ProvisioningPlan(
    id="check", provisioning_class="check-capacity.autoscaling.x-k8s.io", max_nodes_per_request=3000
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(DWS, OPEN, CHECK),
    node_pools=(
        NodePool(id="regional", provider=QUEUED, accelerator=H100, max_nodes=2500, provisioning=DWS),
        NodePool(
            id="zonal",
            provider=QUEUED,
            accelerator=H100,
            max_nodes=2000,
            zones=("europe-west4-a", "europe-west4-b"),
            provisioning=OPEN,
        ),
    ),
    queues=(Queue(id="research"),),
)

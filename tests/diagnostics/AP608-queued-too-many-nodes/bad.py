"""A plan above the bound, a pool above it in its zones, and one whose plan sets no bound of a request."""

from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = Accelerator(model="h100", count=8)

WIDE = ProvisioningPlan(id="wide", max_nodes_per_request=1500)  # AP608
DWS = ProvisioningPlan(id="dws")

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(WIDE, DWS),
    node_pools=(
        NodePool(id="small", provider=QUEUED, accelerator=H100, max_nodes=900, provisioning=WIDE),
        NodePool(id="large", provider=QUEUED, accelerator=H100, max_nodes=2000, provisioning=DWS),  # AP608
        NodePool(  # AP608
            id="zonal",
            provider=QUEUED,
            accelerator=H100,
            max_nodes=2500,
            zones=("europe-west4-a", "europe-west4-b"),
            provisioning=DWS,
        ),
    ),
    queues=(Queue(id="research"),),
)

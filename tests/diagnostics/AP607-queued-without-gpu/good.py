"""The autoscaler's own class scales machines of any kind."""

from apportion_policy import Accelerator, Ack, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

DWS = ProvisioningPlan(id="dws")
ATOMIC = ProvisioningPlan(id="atomic", provisioning_class="best-effort-atomic-scale-up.autoscaling.x-k8s.io")
QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(DWS, ATOMIC),
    node_pools=(
        NodePool(
            id="h100", provider=QUEUED, accelerator=Accelerator(model="h100", count=8), max_nodes=8, provisioning=DWS
        ),
        NodePool(id="big", provider=Ack(), max_nodes=8, provisioning=ATOMIC),
    ),
    queues=(Queue(id="research"),),
)

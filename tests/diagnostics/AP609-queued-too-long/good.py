"""Seven days exactly, a few hours, and a class that has no such bound."""

from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = Accelerator(model="h100", count=8)

WEEK = ProvisioningPlan(id="week", max_run_duration="7d")
SHORT = ProvisioningPlan(id="short", parameters={"maxRunDurationSeconds": "7200"})
CHECK = ProvisioningPlan(id="check", provisioning_class="check-capacity.autoscaling.x-k8s.io", max_run_duration="30d")

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(WEEK, SHORT, CHECK),
    node_pools=(NodePool(id="h100", provider=QUEUED, accelerator=H100, max_nodes=8, provisioning=WEEK),),
    queues=(Queue(id="research"),),
)

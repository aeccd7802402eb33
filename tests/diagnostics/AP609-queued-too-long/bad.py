from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = Accelerator(model="h100", count=8)

LONG = ProvisioningPlan(id="long", max_run_duration="8d")  # AP609
RAW = ProvisioningPlan(id="raw", parameters={"maxRunDurationSeconds": "604801"})  # AP609
WORDS = ProvisioningPlan(id="words", parameters={"maxRunDurationSeconds": "2h"})  # AP609

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(LONG, RAW, WORDS),
    node_pools=(NodePool(id="h100", provider=QUEUED, accelerator=H100, max_nodes=8, provisioning=LONG),),
    queues=(Queue(id="research"),),
)

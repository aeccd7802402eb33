from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = Accelerator(model="h100", count=8)


def plan(days: int) -> ProvisioningPlan:
    return ProvisioningPlan(id=f"days-{days}", max_run_duration=f"{days}d")  # AP609


WEEK = plan(7)
FORTNIGHT = plan(14)  # AP609 called here

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(WEEK, FORTNIGHT),
    node_pools=(NodePool(id="h100", provider=QUEUED, accelerator=H100, max_nodes=8, provisioning=WEEK),),
    queues=(Queue(id="research"),),
)

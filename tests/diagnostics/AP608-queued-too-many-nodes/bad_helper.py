from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = Accelerator(model="h100", count=8)


def plan(name: str, most: int) -> ProvisioningPlan:
    return ProvisioningPlan(id=name, max_nodes_per_request=most)  # AP608


SMALL = plan("small", 100)
LARGE = plan("large", 1001)  # AP608 called here

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(SMALL, LARGE),
    node_pools=(NodePool(id="h100", provider=QUEUED, accelerator=H100, max_nodes=900, provisioning=SMALL),),
    queues=(Queue(id="research"),),
)

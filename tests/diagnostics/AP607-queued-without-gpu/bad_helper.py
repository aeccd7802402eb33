from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

DWS = ProvisioningPlan(id="dws")
QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)


def queued(name: str, accelerator: Accelerator | None) -> NodePool:
    return NodePool(id=name, provider=QUEUED, accelerator=accelerator, max_nodes=8, provisioning=DWS)  # AP607


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(DWS,),
    node_pools=(
        queued("h100", Accelerator(model="h100", count=8)),
        queued("big", None),  # AP607 called here
    ),
    queues=(Queue(id="research"),),
)

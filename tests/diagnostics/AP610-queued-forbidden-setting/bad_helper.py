from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)
H100 = Accelerator(model="h100", count=8)

DWS = ProvisioningPlan(id="dws")


def queued(name: str, min_nodes: int) -> NodePool:
    return NodePool(  # AP610
        id=name, provider=QUEUED, accelerator=H100, min_nodes=min_nodes, max_nodes=8, provisioning=DWS
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(DWS,),
    node_pools=(
        queued("on-request", 0),
        queued("warm", 1),  # AP610 called here
    ),
    queues=(Queue(id="research"),),
)

from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

BOUNDED = ProvisioningPlan(id="bounded", max_run_duration="12h")
H100 = Accelerator(model="h100", count=8)


def queued(name: str, version: str) -> NodePool:
    provider = Gke(version=version, auto_repair=False, location_policy="ANY", reservation_affinity="none")
    return NodePool(id=name, provider=provider, accelerator=H100, max_nodes=8, provisioning=BOUNDED)  # AP611


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(BOUNDED,),
    node_pools=(
        queued("new", "1.28.5-gke.1355000"),
        queued("old", "1.27.8-gke.1067004"),  # AP611 called here
    ),
    queues=(Queue(id="research"),),
)

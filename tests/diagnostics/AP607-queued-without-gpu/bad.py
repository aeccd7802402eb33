from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

DWS = ProvisioningPlan(id="dws")
QUEUED = Gke(
    release_channel="none", auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(DWS,),
    node_pools=(
        NodePool(
            id="h100", provider=QUEUED, accelerator=Accelerator(model="h100", count=8), max_nodes=8, provisioning=DWS
        ),
        NodePool(id="big", provider=QUEUED, machine_type="n2-standard-128", max_nodes=8, provisioning=DWS),  # AP607
    ),
    queues=(Queue(id="research"),),
)

"""The first version with each, a version that leaves its patch to GKE, and old versions that need neither."""

from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

BOUNDED = ProvisioningPlan(id="bounded", max_run_duration="12h")
DWS = ProvisioningPlan(id="dws")
H100 = Accelerator(model="h100", count=8)


def gke(version: str, *, node_auto_provisioning: bool = False) -> Gke:
    return Gke(
        version=version,
        release_channel="none",
        auto_upgrade=False,
        auto_repair=False,
        location_policy="ANY",
        reservation_affinity="none",
        node_auto_provisioning=node_auto_provisioning,
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(BOUNDED, DWS),
    node_pools=(
        NodePool(id="a", provider=gke("1.28.5-gke.1355000"), accelerator=H100, max_nodes=8, provisioning=BOUNDED),
        NodePool(
            id="b",
            provider=gke("1.29.2-gke.1553000", node_auto_provisioning=True),
            accelerator=H100,
            max_nodes=8,
            provisioning=DWS,
        ),
        NodePool(id="c", provider=gke("1.28"), accelerator=H100, max_nodes=8, provisioning=BOUNDED),
        NodePool(id="d", provider=gke("1.28.3-gke.1286000"), accelerator=H100, max_nodes=8, provisioning=DWS),
        NodePool(id="ordinary", provider=Gke(version="1.27.8-gke.1067004"), max_nodes=8),
    ),
    queues=(Queue(id="research"),),
)

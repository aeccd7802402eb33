"""A cluster too old for a bounded run, one too old for node auto-provisioning, and a version that is none."""

from apportion_policy import Accelerator, Gke, NodePool, Organisation, Policy, ProvisioningPlan, Queue

BOUNDED = ProvisioningPlan(id="bounded", max_run_duration="12h")
DWS = ProvisioningPlan(id="dws")
H100 = Accelerator(model="h100", count=8)


def gke(version: str) -> Gke:
    return Gke(
        version=version,
        release_channel="none",
        auto_upgrade=False,
        auto_repair=False,
        location_policy="ANY",
        reservation_affinity="none",
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(BOUNDED, DWS),
    node_pools=(
        NodePool(  # AP611
            id="old",
            provider=Gke(
                version="1.28.3-gke.1286000",
                release_channel="none",
                auto_upgrade=False,
                auto_repair=False,
                location_policy="ANY",
                reservation_affinity="none",
            ),
            accelerator=H100,
            max_nodes=8,
            provisioning=BOUNDED,
        ),
        NodePool(  # AP611
            id="automatic",
            provider=Gke(
                version="1.29.1-gke.1589000",
                release_channel="none",
                auto_upgrade=False,
                auto_repair=False,
                location_policy="ANY",
                reservation_affinity="none",
                node_auto_provisioning=True,
            ),
            accelerator=H100,
            max_nodes=8,
            provisioning=DWS,
        ),
        NodePool(id="odd", provider=gke("latest"), accelerator=H100, max_nodes=8, provisioning=DWS),  # AP611
        NodePool(id="new", provider=gke("1.33.2"), accelerator=H100, max_nodes=8, provisioning=BOUNDED),
    ),
    queues=(Queue(id="research"),),
)

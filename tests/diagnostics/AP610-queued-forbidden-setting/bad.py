"""Every setting that does not go with queued provisioning, spread over a few pools."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Eks,
    Gke,
    Maintenance,
    MaintenanceWindow,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
)

DWS = ProvisioningPlan(id="dws")
H100 = Accelerator(model="h100", count=8)

NIGHTS = Maintenance(
    window=MaintenanceWindow(
        start="2026-11-21T01:00:00Z", end="2026-11-21T05:00:00Z", recurrence="FREQ=WEEKLY;BYDAY=SA"
    )
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(DWS,),
    node_pools=(
        NodePool(  # AP610
            id="as-created",
            provider=Gke(),
            accelerator=H100,
            max_nodes=8,
            provisioning=DWS,
        ),
        NodePool(  # AP610
            id="all-at-once",
            provider=Gke(
                release_channel="none",
                auto_upgrade=True,
                auto_repair=False,
                location_policy="ANY",
                reservation_affinity="specific",
                autoscaling=False,
            ),
            accelerator=H100,
            min_nodes=2,
            max_nodes=8,
            spot=True,
            reservation="acme-h100",
            provisioning=DWS,
        ),
        NodePool(  # AP610
            id="no-upgrade",
            provider=Gke(auto_upgrade=False, auto_repair=False, location_policy="ANY", reservation_affinity="none"),
            accelerator=H100,
            max_nodes=8,
            maintenance=NIGHTS,
            provisioning=DWS,
        ),
        NodePool(  # AP610
            id="aws", provider=Eks(), accelerator=H100, max_nodes=8, taints=(GPU_TAINT,), provisioning=DWS
        ),
    ),
    queues=(Queue(id="research"),),
)

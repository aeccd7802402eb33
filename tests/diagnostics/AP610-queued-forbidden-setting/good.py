"""Set as GKE's guide says; in a release channel, upgrades wait for a window; other pools are free to differ."""

from apportion_policy import (
    Accelerator,
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
        NodePool(
            id="no-channel",
            provider=Gke(
                release_channel="none",
                auto_upgrade=False,
                auto_repair=False,
                location_policy="ANY",
                reservation_affinity="none",
            ),
            accelerator=H100,
            max_nodes=8,
            provisioning=DWS,
        ),
        NodePool(
            id="in-channel",
            provider=Gke(auto_repair=False, location_policy="ANY", reservation_affinity="none"),
            accelerator=H100,
            max_nodes=8,
            maintenance=NIGHTS,
            provisioning=DWS,
        ),
        NodePool(id="ordinary", provider=Gke(), min_nodes=3, max_nodes=8, spot=True),
    ),
    queues=(Queue(id="research"),),
)

"""The same window on both; the same class on both; classes of other names; other clusters with other windows."""

from apportion_policy import (
    Cluster,
    Engine,
    Environment,
    Gke,
    Karpenter,
    Maintenance,
    MaintenanceWindow,
    NodePool,
    Organisation,
    Policy,
    Queue,
)


def night(day: int) -> Maintenance:
    start, end = f"2026-01-0{day}T02:00:00Z", f"2026-01-0{day}T06:00:00Z"
    return Maintenance(window=MaintenanceWindow(start=start, end=end, recurrence="FREQ=WEEKLY"))


TAGS = {"karpenter.sh/discovery": "prod"}
WHOLE = Karpenter(role="nodes", ami_alias="al2023@v20260101", subnet_tags=TAGS, security_group_tags=TAGS)
NAMED = Karpenter(node_class="made-elsewhere")

A = NodePool(id="a", provider=Gke(), machine_type="e2-standard-8", max_nodes=4, maintenance=night(3))
B = NodePool(id="b", provider=Gke(), machine_type="e2-standard-16", max_nodes=4, maintenance=night(3))
C = NodePool(id="c", provider=Gke(), machine_type="e2-standard-8", max_nodes=4, maintenance=night(4))
ONE = NodePool(id="one", provider=WHOLE, machine_type="m7i.4xlarge", max_nodes=4)
TWO = NodePool(id="two", provider=WHOLE, machine_type="m7i.8xlarge", max_nodes=4)
THREE = NodePool(id="three", provider=NAMED, machine_type="m7i.8xlarge", max_nodes=4)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(A, B, C, ONE, TWO, THREE),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gcp", engine=Engine.KAI, engine_version="0.17.0", pools=(A, B)),
                Cluster(name="gcp-2", engine=Engine.KAI, engine_version="0.17.0", pools=(C,)),
                Cluster(name="aws", engine=Engine.KAI, engine_version="0.17.0", pools=(ONE, TWO, THREE)),
            ),
        ),
    ),
)

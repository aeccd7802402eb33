"""Racks without a taint; a pool that GKE does not taint, as the cluster has only GPUs; a taint that only prefers."""

from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    Gke,
    Karpenter,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Taint,
)

RACK = NodePool(id="rack", provider=Fixed(), accelerator=Accelerator(model="a100", count=4), max_nodes=4)  # AP605
CLOUD = NodePool(id="cloud", provider=Gke(), accelerator=Accelerator(model="l4", count=2), max_nodes=4)  # AP605
SOFT = NodePool(  # AP605
    id="soft",
    provider=Karpenter(),
    accelerator=Accelerator(model="h100", count=8),
    max_nodes=4,
    taints=(Taint(key="nvidia.com/gpu", effect="PreferNoSchedule"),),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(RACK, CLOUD, SOFT),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="racks", engine=Engine.KAI, engine_version="0.17.0", pools=(RACK,)),
                Cluster(name="cloud", engine=Engine.KAI, engine_version="0.17.0", pools=(CLOUD,)),
                Cluster(name="aws", engine=Engine.KAI, engine_version="0.17.0", pools=(SOFT,)),
            ),
        ),
    ),
)

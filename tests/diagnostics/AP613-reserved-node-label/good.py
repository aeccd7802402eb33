"""The author's own labels; Apportion's with the value that it writes; racks whose labels are the administrator's."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    Gke,
    NodePool,
    Organisation,
    Policy,
    Queue,
)

RACK = NodePool(
    id="rack",
    provider=Fixed(),
    accelerator=Accelerator(model="a100", count=4),
    max_nodes=4,
    labels={
        "apportion.dev/node-pool": "rack",
        "apportion.dev/gpu-model": "a100",
        "kai.scheduler/node-pool": "a100",
        "node-role.kubernetes.io/gpu": "",
    },
    taints=(GPU_TAINT,),
)
CLOUD = NodePool(
    id="cloud", provider=Gke(), max_nodes=4, labels={"acme.example/tier": "gold", "node.kubernetes.io/tier": "gold"}
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(RACK, CLOUD),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="racks", engine=Engine.KAI, engine_version="0.17.0", pools=(RACK, CLOUD)),),
        ),
    ),
)

"""A pool's label under another id, a shard's under another model, a label of the provider, one of Kubernetes."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Eks,
    Engine,
    Environment,
    Fixed,
    Gke,
    NodePool,
    Organisation,
    Policy,
    Queue,
)

RACK = NodePool(  # AP613
    id="rack",
    provider=Fixed(),
    accelerator=Accelerator(model="a100", count=4),
    max_nodes=4,
    labels={"apportion.dev/node-pool": "rack-1", "kai.scheduler/node-pool": "h100"},
    taints=(GPU_TAINT,),
)
CLOUD = NodePool(id="cloud", provider=Gke(), max_nodes=4, labels={"cloud.google.com/gke-nodepool": "mine"})  # AP613
SERVERS = NodePool(id="servers", provider=Eks(), max_nodes=4, labels={"node-role.kubernetes.io/gpu": ""})  # AP613
PLAIN = NodePool(id="plain", max_nodes=4, labels={"apportion.dev/gpu-model": "h100"})  # AP613

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(RACK, CLOUD, SERVERS, PLAIN),
    queues=(Queue(id="research"),),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="racks", engine=Engine.KAI, engine_version="0.17.0", pools=(RACK, PLAIN)),),
        ),
    ),
)

"""ACK: an ordinary pool, spot machines with GPUs, Lingjun machines, a private pool of capacity."""

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Ack,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Policy,
    Queue,
    Resources,
    Taint,
    TaintEffect,
)

POOLS = (
    NodePool(
        id="ordinary",
        provider=Ack(vswitches=("vsw-1", "vsw-2"), deployment_set="ds-1"),
        machine_type="ecs.g8i.4xlarge",
        min_nodes=2,
        max_nodes=8,
        labels={"acme.example/tier": "gold"},
    ),
    NodePool(
        id="l20",
        provider=Ack(auto_upgrade=False),
        machine_type="ecs.gn8is.4xlarge",
        accelerator=Accelerator(model="l20", count=1),
        max_nodes=8,
        spot=True,
        taints=(GPU_TAINT, Taint(key="spot", effect=TaintEffect.PREFER_NO_SCHEDULE)),
    ),
    NodePool(
        id="lingjun",
        provider=Ack(pool_type="lingjun", auto_repair=False, auto_upgrade=False),
        machine_type="efg2.GN9A.ic",
        accelerator=Accelerator(model="h20", count=8),
        min_nodes=1,
        max_nodes=4,
        reservation="eap-1",
        taints=(GPU_TAINT,),
    ),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="video", namespaces=("video",), guaranteed=Resources(cpu=8, gpu=2)),),
    node_pools=POOLS,
    environments=(
        Environment(
            name="prod", clusters=(Cluster(name="ack-hz", engine=Engine.ACK, engine_version="6.9.4", pools=POOLS),)
        ),
    ),
)

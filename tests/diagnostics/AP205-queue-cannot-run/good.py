from apportion_policy import Accelerator, Cluster, Engine, Environment, NodePool, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        # Without GPUs, with nothing promised and no part of the surplus, it still runs on what is idle.
        Queue(id="leftovers", limit=Resources(gpu=0), over_quota_weight=0, priority_classes=("train",)),
        Queue(
            id="serving",
            guaranteed=Resources(cpu=64, gpu=8),
            priority_classes=("build", "inference"),
            pools=("gpu", "old"),
        ),
    ),
    node_pools=(
        NodePool(id="gpu", accelerator=Accelerator(model="h100", count=8), max_nodes=8),
        NodePool(id="old", accelerator=Accelerator(model="v100", count=8), max_nodes=0),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=("gpu", "old")),),
        ),
    ),
)

from apportion_policy import Accelerator, Cluster, Engine, Environment, NodePool, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", children=(Queue(id="vision", guaranteed=Resources(gpu=8)),)),
        Queue(id="production", children=(Queue(id="vision", guaranteed=Resources(gpu=4)),)),  # AP103
    ),
    node_pools=(
        NodePool(id="h100", accelerator=Accelerator(model="h100", count=8), max_nodes=4),
        NodePool(id="h100", accelerator=Accelerator(model="h100", count=4), max_nodes=2),  # AP103
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=("h100",)),
                Cluster(name="gpu-1", engine=Engine.KUEUE, engine_version="0.18.3", pools=("h100",)),  # AP103
            ),
        ),
    ),
)

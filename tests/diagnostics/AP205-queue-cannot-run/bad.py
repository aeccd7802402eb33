from apportion_policy import Accelerator, Cluster, Engine, Environment, NodePool, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="closed", limit=Resources(cpu=0, gpu=8)),  # AP205
        Queue(id="nobody", priority_classes=()),  # AP205
        Queue(id="serving", guaranteed=Resources(gpu=8), priority_classes=("build", "inference")),  # AP205
        Queue(id="elsewhere", pools=("retired",)),  # AP205
    ),
    node_pools=(
        NodePool(id="gpu", accelerator=Accelerator(model="h100", count=8), max_nodes=8),
        NodePool(id="retired", accelerator=Accelerator(model="v100", count=8), max_nodes=0),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=("gpu", "retired")),),
        ),
    ),
)

from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="research", guaranteed=Resources(gpu=16)),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gpu-1", engine=Engine.KAI, engine_version="v0.9.1"),  # AP110
                Cluster(name="gpu-2", engine=Engine.KUEUE, engine_version="0.31.0"),  # AP110
                Cluster(name="gpu-3", engine=Engine.VOLCANO, engine_version="latest"),  # AP110
                Cluster(name="gpu-4", engine=Engine.KAI, engine_version="0.17.0", kubernetes_version="1.21"),  # AP110
            ),
        ),
    ),
)

from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="research", guaranteed=Resources(gpu=16)),),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(name="gpu-1", engine=Engine.KAI, engine_version="v0.17.0-9"),
                Cluster(name="gpu-2", engine=Engine.KUEUE, engine_version="0.18.3", kubernetes_version="1.36.3"),
                Cluster(name="gpu-3", engine=Engine.ACK, engine_version="1.25.2+aliyun.1"),
                Cluster(name="cpu-1", engine=Engine.NATIVE, engine_version="1.33", kubernetes_version="1.33"),
            ),
        ),
    ),
)

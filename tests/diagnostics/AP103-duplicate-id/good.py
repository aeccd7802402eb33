from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", children=(Queue(id="research-vision", guaranteed=Resources(gpu=8)),)),
        Queue(id="production", children=(Queue(id="production-vision", guaranteed=Resources(gpu=4)),)),
    ),
    environments=(
        Environment(name="staging", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
)

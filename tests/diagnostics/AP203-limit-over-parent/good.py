from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", limit=Resources(cpu=128, gpu=64)),
        Queue(id="vision", parent="research", limit=Resources(gpu=64)),
        # Each model stays below the bound on all; nobody promises the sum.
        Queue(id="llm", parent="research", limit=Resources(gpu={"h100": 48, "a100": 48})),
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
)

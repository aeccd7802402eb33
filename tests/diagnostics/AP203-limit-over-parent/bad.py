from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(cpu=64, gpu=32), limit=Resources(cpu=128, gpu=64)),
        Queue(  # AP203
            id="vision", parent="research", guaranteed=Resources(cpu=32, gpu=16), limit=Resources(cpu=128, gpu=80)
        ),
        Queue(id="llm", parent="research", guaranteed=Resources(cpu=32, gpu=16), limit=Resources(gpu="unlimited")),
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
        Environment(name="lab", clusters=(Cluster(name="lab-1", engine=Engine.VOLCANO, engine_version="1.12.0"),)),
    ),
)

from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Queue, Resources


def team(name: str, limit: int) -> Queue:
    return Queue(id=name, parent="research", limit=Resources(gpu=limit))  # AP203


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", limit=Resources(gpu=64)),
        team("llm", 64),
        team("vision", 96),  # AP203 called here
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
)

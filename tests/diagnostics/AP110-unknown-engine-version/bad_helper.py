from apportion_policy import Cluster, Engine, Environment, Organisation, Policy


def kai_cluster(name: str, version: str) -> Cluster:
    return Cluster(name=name, engine=Engine.KAI, engine_version=version)  # AP110


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    environments=(
        Environment(
            name="prod",
            clusters=(
                kai_cluster("gpu-1", "0.17.0"),
                kai_cluster("gpu-2", "2.4.0"),  # AP110 called here
            ),
        ),
    ),
)

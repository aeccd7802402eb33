from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, PriorityClass


def tier(name: str, value: int) -> PriorityClass:
    return PriorityClass(name=name, value=value, preemptible=False)  # AP406


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        tier("training", 50),  # AP406 called here
        tier("serving", 1000),
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="cpu-1", engine=Engine.NATIVE, engine_version="1.34"),)),
    ),
)

from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, PriorityClass

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    priority_classes=(
        PriorityClass(name="training", value=50, preemptible=True),
        PriorityClass(name="serving", value=1000, preemptible=False),
    ),
    environments=(
        Environment(name="prod", clusters=(Cluster(name="cpu-1", engine=Engine.NATIVE, engine_version="1.34"),)),
    ),
)

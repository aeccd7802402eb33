from apportion_policy import Cluster, Environment, Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision", namespaces=("vision",)),),
    environments=(
        Environment(
            name="prod",
            admission="deny",
            clusters=(
                Cluster(
                    name="hall",
                    engine="kai",
                    engine_version="0.17.0",
                    managed_elsewhere=("access", "namespaces", "priority-classes"),
                ),
            ),
        ),
    ),
)

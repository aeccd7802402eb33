from apportion_policy import Cluster, Environment, Organisation, Policy, Queue

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision", namespaces=("vision",)),),
    environments=(
        Environment(  # AP125
            name="dev",
            admission="warn",
            clusters=(Cluster(name="lab", engine="kai", engine_version="0.17.0"),),
        ),
        Environment(
            name="prod",
            clusters=(
                Cluster(  # AP125
                    name="hall",
                    engine="kai",
                    engine_version="0.17.0",
                    managed_elsewhere=("admission", "quotas", "access"),
                ),
            ),
        ),
    ),
)

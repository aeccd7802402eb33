from apportion_policy import Cluster, Engine, Environment, Organisation, Policy, Topology


def network(name: str, *levels: str) -> Topology:
    return Topology(name=name, levels=(*levels, "kubernetes.io/hostname"))  # AP301


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="gpu-1",
                    engine=Engine.KAI,
                    engine_version="0.17.0",
                    topologies=(
                        network("flat"),
                        network("racks", "rack!"),  # AP301 called here
                    ),
                ),
            ),
        ),
    ),
)

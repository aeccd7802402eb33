from apportion_policy import Accelerator, Eks, NodePool, Organisation, Policy, Queue


def pool(machine_type: str, count: int) -> NodePool:
    return NodePool(  # AP614
        id=machine_type.replace(".", "-"),
        provider=Eks(),
        machine_type=machine_type,
        accelerator=Accelerator(model="l4", count=count),
        max_nodes=4,
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        pool("g6.12xlarge", 4),
        pool("g6.16xlarge", 4),  # AP614 called here
    ),
    queues=(Queue(id="research"),),
)

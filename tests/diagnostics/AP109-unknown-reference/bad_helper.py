from apportion_policy import Accelerator, NodePool, Organisation, Policy, Queue, Resources


def team(name: str, pool: str) -> Queue:
    return Queue(id=name, pools=(pool,), guaranteed=Resources(gpu=4))  # AP109


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        team("vision", "h100"),
        team("speech", "a100"),  # AP109 called here
    ),
    node_pools=(NodePool(id="h100", accelerator=Accelerator(model="h100", count=8), max_nodes=4),),
)

from apportion_policy import GPU_TAINT, Accelerator, Eks, NodePool, Organisation, Policy, Queue, Taint


def pool(model: str, *taints: Taint) -> NodePool:
    return NodePool(  # AP605
        id=model, provider=Eks(), accelerator=Accelerator(model=model, count=8), max_nodes=4, taints=taints
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(
        pool("a100", GPU_TAINT),
        pool("h100"),  # AP605 called here
    ),
    queues=(Queue(id="research"),),
)

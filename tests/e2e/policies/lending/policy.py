"""Three teams on 24 GPUs under Kueue: one lends, one borrows, one does not lend."""

from change import STATE

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
)

# GPUs of the lender and of the borrower. The second state takes from the borrower what the lender gets.
GUARANTEES = {"first": (8, 8), "lowered": (12, 4)}
LENDER, BORROWER = GUARANTEES[STATE]

GPU = NodePool(
    id="gpu",
    provider=Fixed(),
    cpu=96,
    memory="960Gi",
    accelerator=Accelerator(model="a100", count=8, memory="80Gi"),
    min_nodes=3,
    max_nodes=3,
    taints=(GPU_TAINT,),
)
ORDINARY = NodePool(id="ordinary", provider=Fixed(), cpu=32, memory="128Gi", min_nodes=1, max_nodes=1)


def team(id_: str, gpu: int, limit: int, lending_limit: Resources | None = None) -> Queue:
    return Queue(
        id=id_,
        owner=f"@lab/{id_}",
        namespaces=(id_,),
        guaranteed=Resources(gpu=gpu),
        limit=Resources(gpu=limit),
        lending_limit=lending_limit,
    )


policy = Policy(
    organisation=Organisation(name="lab", owner="@lab/platform"),
    queues=(
        Queue(
            id="research",
            owner="@lab/leads",
            guaranteed=Resources(gpu=24),
            limit=Resources(gpu=24),
            children=(
                team("lender", LENDER, 24),
                team("borrower", BORROWER, 24),
                team("keeper", 8, 8, lending_limit=Resources(gpu=0)),
            ),
        ),
    ),
    priority_classes=(
        PriorityClass(name="batch", value=50, preemptible=True),
        PriorityClass(name="urgent", value=90, preemptible=True),
    ),
    node_pools=(GPU, ORDINARY),
    environments=(
        Environment(
            name="on-kueue",
            clusters=(Cluster(name="one", engine=Engine.KUEUE, engine_version="0.18.3", pools=(GPU, ORDINARY)),),
        ),
    ),
)

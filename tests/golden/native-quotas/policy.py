"""No queueing engine: limits of ancestors folded into quotas, classes scoped, nothing else that Kubernetes could hold."""

from apportion_policy import (
    BUILD,
    TRAIN,
    Cluster,
    Engine,
    Environment,
    Organisation,
    Placement,
    Policy,
    PriorityClass,
    Queue,
    Resources,
)

SERVING = PriorityClass(name="serving", value=500, preemptible=False, queues=("product",), global_default=False)

policy = Policy(
    organisation=Organisation(name="acme"),
    priority_classes=(TRAIN, BUILD, SERVING),
    queues=(
        Queue(
            id="product",
            owner="group:default/product",
            limit=Resources(cpu=64, memory="256Gi", gpu=12, extended={"rdma/hca": 4}),
            children=(
                Queue(id="search", namespaces=("search",), limit=Resources(cpu=96, gpu="2.5")),
                Queue(id="ads", namespaces=("ads", "ads-dev"), limit=Resources(gpu={"h100": 4, "l4": 4})),
            ),
        ),
        Queue(id="lab", owner="@acme/lab", namespaces=("lab",), priority_classes=(TRAIN,)),
    ),
    environments=(
        Environment(
            name="dev",
            clusters=(Cluster(name="small", engine=Engine.NATIVE, engine_version="1.34", placement=Placement()),),
        ),
    ),
)

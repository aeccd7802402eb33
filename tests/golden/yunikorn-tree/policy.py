"""YuniKorn: three levels, limits of people, priorities, a name it cannot hold, GPUs of two models counted together."""

from apportion_policy import (
    Accelerator,
    Cluster,
    Engine,
    Environment,
    NodePool,
    Organisation,
    Policy,
    PriorityClass,
    Queue,
    Resources,
    UserLimit,
)

research = Queue(
    id="research",
    owner="@acme/research-leads",
    guaranteed=Resources(cpu=512, memory="4Ti", gpu={"h100": 24, "a100": 8}),
    limit=Resources(gpu=48),
)
vision = Queue(
    id="vision",
    title="Vision",
    parent=research,
    namespaces=("vision", "vision-ci"),
    guaranteed=Resources(cpu="256500m", memory="2Ti", gpu={"h100": 16}),
    users=(
        UserLimit(user="alice@acme.example", limit=Resources(gpu=12), max_jobs=3),
        UserLimit(user="oncall", limit=Resources()),
        UserLimit(user="system:serviceaccount:ray:kuberay-operator", limit=Resources(gpu=16)),
        UserLimit(user="*", limit=Resources(gpu=4, memory="512Gi")),
    ),
    priority=200,
    labels={"cost-centre": "42"},
)
speech = Queue(
    id="speech",
    parent=research,
    namespaces=("speech",),
    guaranteed=Resources(gpu=8, extended={"rdma/hca": 4}),
)
batch = Queue(
    id="batch",
    parent=research,
    namespaces=("batch",),
    limit=Resources(gpu=0),
    priority_classes=("nightly",),
    priority=50,
)
default = Queue(
    id="default",
    namespaces=("serving",),
    guaranteed=Resources(gpu={"h100": 8}),
    priority_classes=("serving",),
)

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(research, vision, speech, batch, default),
    priority_classes=(
        PriorityClass(name="nightly", value=10, preemptible=True),
        PriorityClass(name="serving", value=1000, preemptible=False, description="Answers people."),
    ),
    node_pools=(
        NodePool(
            id="h100", cpu=192, memory="2Ti", accelerator=Accelerator(model="h100", count=8), min_nodes=8, max_nodes=8
        ),
        NodePool(
            id="a100", cpu=96, memory="1Ti", accelerator=Accelerator(model="a100", count=8), min_nodes=8, max_nodes=8
        ),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.YUNIKORN, engine_version="1.8", pools=("h100", "a100")),),
        ),
    ),
)

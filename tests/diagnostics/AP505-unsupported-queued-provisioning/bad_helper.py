from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Gke,
    NodePool,
    Organisation,
    Policy,
    ProvisioningPlan,
    Queue,
    Resources,
)


def gpu_pool(model: str) -> NodePool:
    return NodePool(  # AP505
        id=model,
        provider=Gke(
            version="1.33.2-gke.1240000",
            release_channel="none",
            auto_repair=False,
            auto_upgrade=False,
            location_policy="ANY",
            reservation_affinity="none",
        ),
        machine_type="a3-highgpu-8g",
        cpu=190,
        memory="1Ti",
        accelerator=Accelerator(model=model, count=8),
        max_nodes=8,
        taints=(GPU_TAINT,),
        provisioning="burst",
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(ProvisioningPlan(id="burst"),),
    node_pools=(
        gpu_pool("h100"),  # AP505 called here
        NodePool(id="ordinary", cpu=32, memory="128Gi", max_nodes=10),
    ),
    queues=(Queue(id="vision", namespaces=("vision",), guaranteed=Resources(gpu=16)),),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0", pools=("h100", "ordinary")),),
        ),
    ),
)

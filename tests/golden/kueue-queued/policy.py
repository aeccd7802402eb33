"""Machines that are there and machines that are asked for: an admission check on the flavor of the latter alone."""

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

GPU = Accelerator(model="h100", count=8, provider_name="nvidia-h100-80gb")

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    provisioning_plans=(
        ProvisioningPlan(
            id="dws",
            max_run_duration="7d",
            retry_limit=5,
            retry_backoff_base="2m",
            retry_backoff_max="1h",
        ),
    ),
    node_pools=(
        NodePool(
            id="reserved",
            provider=Gke(version="1.33.2-gke.1240000"),
            machine_type="a3-highgpu-8g",
            cpu=192,
            memory="1800Gi",
            accelerator=GPU,
            min_nodes=4,
            max_nodes=4,
            taints=(GPU_TAINT,),
        ),
        NodePool(
            id="queued",
            provider=Gke(
                version="1.33.2-gke.1240000",
                auto_repair=False,
                location_policy="ANY",
                reservation_affinity="none",
                release_channel="none",
                auto_upgrade=False,
            ),
            machine_type="a3-highgpu-8g",
            cpu=192,
            memory="1800Gi",
            accelerator=GPU,
            max_nodes=64,
            taints=(GPU_TAINT,),
            provisioning="dws",
        ),
        NodePool(
            id="ordinary",
            provider=Gke(version="1.33.2-gke.1240000"),
            machine_type="n2-standard-32",
            cpu=30,
            memory="120Gi",
            min_nodes=1,
            max_nodes=10,
        ),
    ),
    queues=(
        # Guaranteed on what is reserved; up to 256 on what is asked for.
        Queue(
            id="training",
            namespaces=("training",),
            guaranteed=Resources(cpu=700, memory="6Ti", gpu=24),
            limit=Resources(gpu=256),
        ),
        Queue(id="evaluation", namespaces=("evaluation",), guaranteed=Resources(cpu=40, memory="400Gi", gpu=8)),
    ),
    environments=(
        Environment(
            name="prod",
            clusters=(
                Cluster(
                    name="main",
                    engine=Engine.KUEUE,
                    engine_version="0.18.3",
                    pools=("reserved", "queued", "ordinary"),
                ),
            ),
        ),
    ),
)

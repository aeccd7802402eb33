from apportion_policy import Accelerator, NodePool, Organisation, Policy, PriorityClass, Queue, Resources, Taint

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="vision-team", title="Vision Team (Zürich)", guaranteed=Resources(gpu=8)),
        Queue(id="4d-imaging", namespaces=("imaging-training",)),
        Queue(id="llm", labels={"cost-centre": "4711", "acme.example/Contact_Point": "Robotics.Team", "empty": ""}),
    ),
    priority_classes=(PriorityClass(name="batch.low", value=10, preemptible=True),),
    node_pools=(
        NodePool(
            id="h100",
            accelerator=Accelerator(model="h100", count=8),
            max_nodes=4,
            taints=(Taint(key="nvidia.com/gpu", value="present"),),
        ),
    ),
)

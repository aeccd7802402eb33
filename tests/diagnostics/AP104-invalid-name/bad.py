from apportion_policy import Accelerator, NodePool, Organisation, Policy, PriorityClass, Queue, Resources, Taint

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="Vision_Team", guaranteed=Resources(gpu=8)),  # AP104
        Queue(id="a-research-group-with-a-name-longer-than-the-sixty-three-characters-of-a-label"),  # AP104
        Queue(id="speech", namespaces=("Speech.Training",)),  # AP104
        Queue(id="llm", labels={"cost centre": "4711"}),  # AP104
        Queue(id="robotics", labels={"acme.example/contact": "Robotics Team"}),  # AP104
    ),
    priority_classes=(PriorityClass(name="batch.low", value=10, preemptible=True),),
    node_pools=(
        NodePool(
            id="h100",
            accelerator=Accelerator(model="h100", count=8),
            max_nodes=4,
            taints=(Taint(key="GPU nodes", value="present"),),  # AP104
        ),
        NodePool(id="H100 (new)", accelerator=Accelerator(model="h100", count=8), max_nodes=4),  # AP104
    ),
)

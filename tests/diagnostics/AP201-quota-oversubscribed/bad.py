from apportion_policy import Organisation, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(id="research", guaranteed=Resources(gpu={"h100": 64, "a100": 32})),  # AP201
        Queue(id="llm", parent="research", guaranteed=Resources(gpu={"h100": 48})),
        Queue(id="vision", parent="research", guaranteed=Resources(gpu={"h100": 32, "a100": 32})),
        Queue(  # AP201
            id="production",
            guaranteed=Resources(cpu=500, memory="2Ti"),
            children=(
                Queue(id="search", guaranteed=Resources(cpu=400, memory="2Ti")),
                Queue(id="ads", guaranteed=Resources(cpu="120500m")),
            ),
        ),
    ),
)

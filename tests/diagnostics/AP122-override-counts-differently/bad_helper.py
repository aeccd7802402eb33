# as-of: 2026-11-21
from apportion_policy import Organisation, Override, Policy, Queue, Resources


def release(gpus: int) -> Override:
    return Override(  # AP122
        begin="2026-12-01",
        end="2026-12-15",
        reason="release",
        owner="@acme/vision-leads",
        guaranteed=Resources(gpu=gpus),
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            guaranteed=Resources(gpu={"h100": 8, "l4": 24}),
            overrides=(release(40),),  # AP122 called here
        ),
    ),
)

# as-of: 2026-11-21
from apportion_policy import Organisation, Override, Policy, Queue, Resources


def override(month: int, **amounts: object) -> Override:
    return Override(
        begin=f"2027-{month:02}-01", end=f"2027-{month:02}-20", reason="release", owner="@acme/vision-leads", **amounts
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            limit=Resources(gpu={"h100": 8, "l4": 24}),
            overrides=(
                override(1, limit=Resources(gpu={"l4": 40})),
                override(2, limit=Resources(gpu=0)),
                override(3, limit=Resources(gpu=40), replace=("limit",)),
            ),
        ),
    ),
)

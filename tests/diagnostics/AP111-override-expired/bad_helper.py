# as-of: 2026-11-21
from datetime import date

from apportion_policy import Organisation, Override, Policy, Queue, Resources


def deadline(end: date) -> Override:
    return Override(  # AP111
        begin=date(2026, 9, 1),
        end=end,
        reason="conference deadline",
        owner="@acme/vision-leads",
        guaranteed=Resources(gpu=12),
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            namespaces=("vision",),
            guaranteed=Resources(cpu=64, memory="512Gi", gpu=8),
            overrides=(deadline(date(2026, 10, 31)),),  # AP111 called here
        ),
    ),
)

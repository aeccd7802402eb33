# as-of: 2026-11-21
from datetime import date

from apportion_policy import Organisation, Override, Policy, Queue, Resources


def more_gpus(begin: date, end: date, gpus: int) -> Override:
    return Override(  # AP112
        begin=begin,
        end=end,
        reason="conference deadline",
        owner="@acme/vision-leads",
        guaranteed=Resources(gpu=gpus),
    )


policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            guaranteed=Resources(cpu=64, gpu=8),
            overrides=(
                more_gpus(date(2026, 12, 1), date(2026, 12, 15), 12),
                more_gpus(date(2026, 12, 15), date(2026, 12, 31), 16),  # AP112 called here
            ),
        ),
    ),
)

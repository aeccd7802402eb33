# as-of: 2026-11-21
from datetime import date

from apportion_policy import Organisation, Override, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            namespaces=("vision",),
            guaranteed=Resources(cpu=64, memory="512Gi", gpu=8),
            overrides=(
                Override(  # AP111
                    begin=date(2026, 10, 1),
                    end=date(2026, 10, 31),
                    reason="conference deadline",
                    owner="@acme/vision-leads",
                    guaranteed=Resources(gpu=12),
                ),
                Override(  # AP111
                    begin=date(2026, 11, 20),
                    end=date(2026, 11, 20),
                    reason="rehearsal of the release",
                    owner="@acme/vision-leads",
                    priority=200,
                ),
            ),
        ),
    ),
)

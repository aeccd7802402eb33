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
                Override(
                    begin=date(2026, 10, 1),
                    end=date(2026, 11, 21),
                    reason="conference deadline, its last day included",
                    owner="@acme/vision-leads",
                    guaranteed=Resources(gpu=12),
                ),
                Override(
                    begin=date(2027, 1, 1),
                    end=date(2027, 1, 31),
                    reason="next release",
                    owner="@acme/vision-leads",
                    guaranteed=Resources(gpu=12),
                ),
            ),
        ),
    ),
)

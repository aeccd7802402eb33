# as-of: 2026-11-21
from apportion_policy import Organisation, Override, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(
        Queue(
            id="vision",
            guaranteed=Resources(cpu=64, gpu=8),
            overrides=(
                Override(  # AP112
                    begin="2026-12-10",
                    end="2026-12-31",
                    reason="release",
                    owner="@acme/vision-leads",
                    guaranteed=Resources(gpu={"h100": 16}),
                ),
                Override(
                    begin="2026-12-01",
                    end="2026-12-15",
                    reason="conference deadline",
                    owner="@acme/vision-leads",
                    guaranteed=Resources(gpu=12),
                ),
            ),
        ),
        Queue(
            id="speech",
            guaranteed=Resources(cpu=64, gpu=8),
            overrides=(
                Override(
                    begin="2026-11-01",
                    end="2027-01-31",
                    reason="more people",
                    owner="@acme/speech",
                    limit=Resources(cpu=128),
                    priority=120,
                ),
                Override(  # AP112
                    begin="2026-12-24",
                    end="2026-12-31",
                    reason="holidays",
                    owner="@acme/speech",
                    limit=Resources(cpu=16),
                    priority=80,
                ),
            ),
        ),
    ),
)

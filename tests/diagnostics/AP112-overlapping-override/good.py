# as-of: 2026-11-21
from datetime import date

from apportion_policy import Cluster, Engine, Environment, Organisation, Override, Policy, Queue, Resources

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    environments=(
        Environment(name="staging", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
        Environment(name="prod", clusters=(Cluster(name="gpu-1", engine=Engine.KAI, engine_version="0.17.0"),)),
    ),
    queues=(
        Queue(
            id="vision",
            namespaces=("vision",),
            guaranteed=Resources(cpu=64, memory="512Gi", gpu=8),
            overrides=(
                Override(
                    begin=date(2026, 12, 1),
                    end=date(2026, 12, 15),
                    reason="conference deadline",
                    owner="@acme/vision-leads",
                    environments=("prod",),
                    guaranteed=Resources(gpu=12),
                ),
                Override(
                    begin=date(2026, 12, 16),
                    end=date(2026, 12, 31),
                    reason="release",
                    owner="@acme/vision-leads",
                    environments=("prod",),
                    guaranteed=Resources(gpu=16),
                ),
                Override(
                    begin=date(2026, 12, 1),
                    end=date(2026, 12, 31),
                    reason="another resource on the same days",
                    owner="@acme/vision-leads",
                    environments=("prod",),
                    guaranteed=Resources(cpu=128),
                ),
                Override(
                    begin=date(2026, 12, 1),
                    end=date(2026, 12, 31),
                    reason="another environment on the same days",
                    owner="@acme/vision-leads",
                    environments=("staging",),
                    guaranteed=Resources(gpu=2),
                ),
            ),
        ),
    ),
)

"""Vision: image models."""

from departments import RESEARCH

from apportion_policy import Queue, Resources

VISION = Queue(
    id="vision",
    title="Vision",
    parent=RESEARCH,
    owner="@acme/vision-leads",
    namespaces=("vision",),
    guaranteed=Resources(gpu={"h100": 24, "a100": 16}),
    over_quota_weight=2,
    preempt_min_runtime="15m",
)

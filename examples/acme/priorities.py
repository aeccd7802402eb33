"""Tiers of work. Preemptibility is said, not left to the number; serving is for the product teams alone."""

from apportion_policy import BUILD, BUILD_PREEMPTIBLE, INFERENCE, TRAIN, PriorityClass

SERVING = PriorityClass(
    name="serving",
    value=150,
    preemptible=False,
    queues=("product",),
    description="User-facing inference of the product teams",
)

PRIORITY_CLASSES = (TRAIN, BUILD_PREEMPTIBLE, BUILD, INFERENCE, SERVING)

"""Priority classes with explicit preemptibility; only product teams may use `serving`."""

from apportion_policy import BUILD, BUILD_PREEMPTIBLE, INFERENCE, TRAIN, PriorityClass

SERVING = PriorityClass(
    name="serving",
    value=150,
    preemptible=False,
    queues=("product",),
    description="User-facing inference of the product teams",
)

PRIORITY_CLASSES = (TRAIN, BUILD_PREEMPTIBLE, BUILD, INFERENCE, SERVING)

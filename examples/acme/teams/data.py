"""Data: offline inference on the data lake, mostly with idle GPUs."""

from departments import PLATFORM

from apportion_policy import TRAIN, Queue, Resources

DATA = Queue(
    id="data",
    title="Data pipelines",
    parent=PLATFORM,
    namespaces=("data",),
    guaranteed=Resources(gpu={"h100": 4, "a100": 8}),
    over_quota_weight=3,
    priority_classes=(TRAIN,),
)

"""Interns: no guarantee; they use idle GPUs, which they share."""

from departments import PLATFORM

from apportion_policy import TRAIN, Queue, Resources

INTERNS = Queue(
    id="interns",
    title="Interns",
    parent=PLATFORM,
    namespaces=("interns",),
    guaranteed=Resources(gpu=0),
    limit=Resources(gpu={"h100": 4, "a100": 8}),
    priority_classes=(TRAIN,),
    gpu_sharing=True,
)

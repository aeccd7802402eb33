"""Inference: models that serve customers."""

from apportion_policy import Queue, Resources

INFERENCE = Queue(
    id="inference",
    owner="@acme/serving-leads",
    namespaces=("inference",),
    guaranteed=Resources(gpu=4),
    limit=Resources(gpu=4),
    priority_classes=("serving",),
)

"""Vision: image models."""

from apportion_policy import Queue, Resources

VISION = Queue(
    id="vision",
    parent="research",
    owner="@acme/vision-leads",
    namespaces=("vision",),
    guaranteed=Resources(gpu=8),
    priority_classes=("training", "nightly"),
)

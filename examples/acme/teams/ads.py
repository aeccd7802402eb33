"""Ads: many small click models, which share GPUs."""

from departments import PRODUCT

from apportion_policy import BUILD_PREEMPTIBLE, TRAIN, Queue, Resources

ADS = Queue(
    id="ads",
    title="Ads",
    parent=PRODUCT,
    owner="@acme/ads-leads",
    namespaces=("ads",),
    guaranteed=Resources(gpu={"h100": 0, "a100": 8}),
    priority_classes=(TRAIN, BUILD_PREEMPTIBLE),
    gpu_sharing=True,
)

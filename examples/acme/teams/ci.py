"""CI: builds and tests of container images."""

from departments import PLATFORM

from apportion_policy import BUILD, BUILD_PREEMPTIBLE, Queue, Resources

CI = Queue(
    id="ci",
    title="Continuous integration",
    parent=PLATFORM,
    namespaces=("ci",),
    guaranteed=Resources(gpu={"h100": 8, "a100": 8}),
    limit=Resources(gpu={"h100": 16, "a100": 16}),
    priority_classes=(BUILD_PREEMPTIBLE, BUILD),
)

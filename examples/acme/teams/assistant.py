"""Assistant: serves the model that users talk to."""

from departments import PRODUCT

from apportion_policy import Queue, Resources

ASSISTANT = Queue(
    id="assistant",
    title="Assistant serving",
    parent=PRODUCT,
    owner="@acme/assistant-leads",
    namespaces=("assistant",),
    guaranteed=Resources(gpu={"h100": 40, "a100": 8}),
    limit=Resources(gpu={"h100": 80, "a100": 32}),
    priority=150,
)

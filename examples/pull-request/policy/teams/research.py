"""Research: the department of the training teams."""

from apportion_policy import Queue, Resources

RESEARCH = Queue(
    id="research",
    owner="@acme/research-leads",
    guaranteed=Resources(gpu=24),
)

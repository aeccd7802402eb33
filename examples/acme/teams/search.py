"""Search: ranking models, trained and served."""

from departments import PRODUCT

from apportion_policy import Queue, Resources

SEARCH = Queue(
    id="search",
    title="Search",
    parent=PRODUCT,
    owner="@acme/search-leads",
    namespaces=("search",),
    guaranteed=Resources(gpu={"h100": 8, "a100": 8}),
)

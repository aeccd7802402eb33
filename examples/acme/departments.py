"""The departments, with their guarantees and limits."""

from apportion_policy import Queue, Resources

RESEARCH = Queue(
    id="research",
    title="Research",
    owner="@acme/research-leads",
    guaranteed=Resources(gpu={"h100": 64, "a100": 48}),
    over_quota_weight=2,
    reclaim_min_runtime="30m",
)

PRODUCT = Queue(
    id="product",
    title="Product",
    owner="@acme/product-leads",
    guaranteed=Resources(gpu={"h100": 48, "a100": 24}),
    limit=Resources(gpu={"h100": 96, "a100": 64}),
    priority=120,
)

PLATFORM = Queue(
    id="platform",
    title="Platform",
    owner="@acme/platform",
    guaranteed=Resources(gpu={"h100": 12, "a100": 16}),
    limit=Resources(gpu={"h100": 32, "a100": 48}),
)

DEPARTMENTS = (RESEARCH, PRODUCT, PLATFORM)

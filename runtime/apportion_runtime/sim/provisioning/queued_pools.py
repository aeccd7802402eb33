"""The provider's capacity for queued requests, as defined in a scenario."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class ZoneCapacity:
    """The number of machines of a pool in a zone, from a given time."""

    zone: str
    nodes: int
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class GpuQuota:
    """The GPU quota of the project in a region, from a given time."""

    gpus: int
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class QueuedPool:
    """A pool with queued provisioning.

    Attributes:
        capacities: The number of machines by zone and time.
        region: The region in which requests and GPUs are counted, over all its pools.
        boot_s: The time from finding machines until all their nodes are ready.
        accept_s: The time until the autoscaler checks a request.
        gpu_quotas: The GPU quotas of the project in the region, over time; empty is unlimited.
        open_requests: The maximum number of accepted but unprovisioned requests in the region.
        nodes_per_request: The maximum number of nodes of a request.
        booking_s: How long provisioned nodes are reserved for their pods.
        longest_s: The maximum and default runtime of nodes.
        shortest_s: The minimum runtime of a request.
        patience_s: The time after which an unprovisioned request expires.
    """

    capacities: tuple[ZoneCapacity, ...] = ()
    region: str = "region"
    boot_s: float = 180.0
    accept_s: float = 10.0
    gpu_quotas: tuple[GpuQuota, ...] = ()
    open_requests: int = 100
    nodes_per_request: int = 1000
    booking_s: float = 600.0
    longest_s: float = 7 * _DAY
    shortest_s: float = 600.0
    patience_s: float = 7 * _DAY

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones, by name."""
        return tuple(sorted({capacity.zone for capacity in self.capacities}))

    def nodes_in(self, zone: str, at_s: float) -> int:
        """Return the number of machines in a zone at a time, including those in use."""
        begun = [
            (capacity.at_s, number, capacity.nodes)
            for number, capacity in enumerate(self.capacities)
            if capacity.zone == zone
        ]
        return max((each for each in begun if each[0] <= at_s), default=(0.0, 0, 0))[2]

    def gpu_quota(self, at_s: float) -> int | None:
        """Return the GPU quota of the project at a time; None is unlimited."""
        begun = [(quota.at_s, number, quota.gpus) for number, quota in enumerate(self.gpu_quotas) if quota.at_s <= at_s]
        return max(begun)[2] if begun else None


def changes(pools: Collection[QueuedPool]) -> Iterator[float]:
    """Yield the times at which the provider's capacity or the project's quota changes."""
    changed = {capacity.at_s for pool in pools for capacity in pool.capacities}
    yield from sorted(at_s for at_s in changed | {quota.at_s for pool in pools for quota in pool.gpu_quotas} if at_s)

"""What a provider gives for whole requests, as a scenario says it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Offer:
    """From a moment on, how many machines of a pool the provider has for this cluster in a zone."""

    zone: str
    nodes: int
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class GpuQuota:
    """From a moment on, how many GPUs the project may have in a region."""

    gpus: int
    at_s: float = 0.0


@dataclass(frozen=True, slots=True)
class QueuedPool:
    """A pool whose nodes come for whole requests.

    Attributes:
        offers: What there is to be had.
        region: Requests and GPUs are counted in a region, over all its pools.
        boot_s: From the moment at which machines are found until their nodes are ready, all of them.
        accept_s: From a request until the autoscaler has looked at it.
        gpu_quotas: GPUs that the project may have in the region, over time; none is no bound.
        open_requests: Requests of the region that may be accepted and not provisioned at a time.
        nodes_per_request: At most.
        booking_s: How long provisioned nodes wait for the pods they are for.
        longest_s: How long nodes live at most, and where a request does not specify how long.
        shortest_s: The least that a request may say.
        patience_s: After how long a request that was not provisioned is given up.
    """

    offers: tuple[Offer, ...] = ()
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
        return tuple(sorted({offer.zone for offer in self.offers}))

    def nodes_in(self, zone: str, at_s: float) -> int:
        """Return how many machines there are in a zone at a moment, those that are in use included."""
        begun = [(offer.at_s, number, offer.nodes) for number, offer in enumerate(self.offers) if offer.zone == zone]
        return max((each for each in begun if each[0] <= at_s), default=(0.0, 0, 0))[2]

    def gpu_quota(self, at_s: float) -> int | None:
        """Return how many GPUs the project may have at a moment; None is no bound."""
        begun = [(quota.at_s, number, quota.gpus) for number, quota in enumerate(self.gpu_quotas) if quota.at_s <= at_s]
        return max(begun)[2] if begun else None


def changes(pools: Collection[QueuedPool]) -> Iterator[float]:
    """Yield the moments at which a provider has other machines, or a project another quota, than before."""
    offered = {offer.at_s for pool in pools for offer in pool.offers}
    yield from sorted(at_s for at_s in offered | {quota.at_s for pool in pools for quota in pool.gpu_quotas} if at_s)

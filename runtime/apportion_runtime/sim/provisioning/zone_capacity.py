"""Zone capacity: whether a request can be met now, with all of its machines in one zone and within the quota of the region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_runtime.sim.provisioning.request_checks import (
    NOT_FOUND,
    QUOTA_EXCEEDED,
    RequestDemand,
    UnmetRequest,
    quota_message,
)
from apportion_runtime.sim.scenario.format import Pool


@dataclass(frozen=True, slots=True)
class HeldMachines:
    """The machines of a request."""

    pool: str
    zone: str
    nodes: int
    gpus: int


def find_machines(
    asked: RequestDemand, pools: Mapping[str, Pool], held: Iterable[HeldMachines], at_s: float
) -> HeldMachines | UnmetRequest:
    """Return the machines for a request at a time, or why it has to wait."""
    pool = pools[asked.pool]
    queued = pool.queued
    assert queued is not None
    taken = list(held)
    in_region = [each for each in taken if _region(pools, each.pool) == queued.region]
    quota = queued.gpu_quota(at_s)
    if quota is not None and sum(each.gpus for each in in_region) + asked.gpus > quota:
        return UnmetRequest(QUOTA_EXCEEDED, quota_message(pool, quota, queued.region))
    of_pool = [each for each in taken if each.pool == asked.pool]
    if sum(each.nodes for each in of_pool) + asked.nodes <= pool.most:
        for zone in queued.zones:
            free = queued.nodes_in(zone, at_s) - sum(each.nodes for each in of_pool if each.zone == zone)
            if free >= asked.nodes:
                return HeldMachines(asked.pool, zone, asked.nodes, asked.gpus)
    return UnmetRequest(NOT_FOUND, "Capacity is not found, CA will try to find it later.")


def _region(pools: Mapping[str, Pool], name: str) -> str:
    queued = pools[name].queued
    assert queued is not None
    return queued.region

"""Node pools that a search may enlarge, and policies with other quotas and pool sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from apportion_policy.policy import Policy
from apportion_policy.pool import NodePool
from apportion_review.fit.quota_edits import QuotaEdit, edited
from apportion_runtime.sim.report.report import Report


@dataclass(frozen=True, slots=True)
class PoolEdit:
    """A new maximum number of nodes of a pool."""

    pool: str
    max_nodes: int


@dataclass(frozen=True, slots=True)
class PolicyEdits:
    """Changes of a policy: quotas and pool sizes."""

    quotas: tuple[QuotaEdit, ...] = ()
    pools: tuple[PoolEdit, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchedPool:
    """A node pool that may grow.

    Attributes:
        pool: Id of the pool.
        present: Its `max_nodes`.
        most: The largest size that is tried.
        n_gpus: GPUs of each node.
    """

    pool: str
    present: int
    most: int
    n_gpus: int


def searched_pools(pools: Sequence[NodePool], report: Report) -> tuple[SearchedPool, ...]:
    """Return the sizes of pools to try: up to the size with which all GPUs that are requested at once are there.

    Args:
        pools: The pools, whose nodes have GPUs.
        report: The simulation of the policy as it is.
    """
    parents = {each.name: each.parent for each in report.summary.queues}
    peaks = (
        max((value for _, value in each.requested), default=0.0)
        for each in report.series
        if parents.get(each.queue) not in parents
    )
    missing = math.ceil(sum(peaks)) - min((value for _, value in report.capacity), default=0.0)
    return tuple(
        SearchedPool(pool.id, pool.max_nodes, pool.max_nodes + max(0, math.ceil(missing / gpus)), gpus)
        for pool, gpus in ((pool, gpus_of_node(pool)) for pool in pools)
    )


def gpus_of_node(pool: NodePool) -> int:
    """Return the GPUs of each node of a pool."""
    return 0 if pool.accelerator is None else pool.accelerator.count


def edited_policy(policy: Policy, edits: PolicyEdits) -> Policy:
    """Return a policy with other quotas and pool sizes; a pool of a fixed size keeps one.

    Raises:
        ValueError: If a quota is declared as a number of machines.
    """
    sizes = {edit.pool: edit.max_nodes for edit in edits.pools}
    made = edited(policy, edits.quotas)
    if not sizes:
        return made
    pools = tuple(_resized(pool, sizes[pool.id]) if pool.id in sizes else pool for pool in made.node_pools)
    return made.model_copy(update={"node_pools": pools})


def _resized(pool: NodePool, max_nodes: int) -> NodePool:
    return pool.model_copy(update=dict.fromkeys(size_fields(pool), max_nodes))


def size_fields(pool: NodePool) -> tuple[str, ...]:
    """Return the fields of a pool that change with its size: `min_nodes` as well if it is fixed."""
    return ("min_nodes", "max_nodes") if pool.min_nodes == pool.max_nodes else ("max_nodes",)

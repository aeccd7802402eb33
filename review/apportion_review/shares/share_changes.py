"""Guarantees and limits of every queue before and after a change, and the capacity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import cast

from apportion_compiler.checks.capacity import Holding, cluster_holdings
from apportion_compiler.graph.graph import PolicyGraph, Scope
from apportion_compiler.orgtree.report import capacity, resources_of
from apportion_policy.quantity import Unlimited
from apportion_review.differences import Differences
from apportion_review.facts import EFFECTIVE_LIMIT, QUEUE, Fact, Facts
from apportion_review.shares.cluster_shares import SharesByRow
from apportion_review.shares.records import PoolHeadroom, QueueAmounts, ShareChange

_GUARANTEED = "guaranteed"


def share_changes(
    cluster: str, found: Differences, shares: tuple[SharesByRow, SharesByRow] = ({}, {})
) -> tuple[ShareChange, ...]:
    """Return a row for each queue and resource of a cluster, changed ones first, each group in tree order.

    Args:
        cluster: The cluster, such as `prod/gpu-1`.
        found: The differences between the policies; a renamed queue has one row with its name in the head.
        shares: Shares in the base and in the head, by the names of each.
    """
    names = {rename.before: rename.after for rename in found.renames if rename.kind == QUEUE}
    former = {(names.get(queue, queue), resource): held for (queue, resource), held in shares[0].items()}
    base = _with_shares(_amounts(found.base, cluster), found.base, former)
    head = _with_shares(_amounts(found.head, cluster), found.head, shares[1])
    touched = {
        change.fact.name
        for change in found.changes
        if change.fact.kind == QUEUE and not change.fact.scope and change.fact.field != ("owner",)
    }
    rows = [
        ShareChange(queue, resource, _owner(queue, found), base.get(key), head.get(key), queue in touched)
        for key in dict.fromkeys((*head, *base))
        for queue, resource in (key,)
    ]
    return tuple(sorted(rows, key=lambda row: row.base == row.head))


def _amounts(facts: Facts, cluster: str) -> dict[tuple[str, str], QueueAmounts]:
    """Return the amounts of each queue for all resources that any queue of the cluster has, in tree order."""
    if cluster not in facts.clusters:
        return {}
    held: dict[str, dict[tuple[str, ...], int | Unlimited]] = {queue: {} for queue in facts.parents}
    resources: dict[str, None] = {}
    for fact, value in facts.values.items():
        if fact.kind == QUEUE and fact.scope == cluster and fact.field[0] in (_GUARANTEED, EFFECTIVE_LIMIT):
            held[fact.name][fact.field] = cast("int | Unlimited", value)
            resources[fact.field[1]] = None
    found: dict[tuple[str, str], QueueAmounts] = {}
    for queue, values in held.items():
        for resource in resources:
            guaranteed, limit = values.get((_GUARANTEED, resource)), values.get((EFFECTIVE_LIMIT, resource))
            if guaranteed is not None or limit is not None:
                found[queue, resource] = QueueAmounts(_integer(guaranteed), limit, {})
    return found


def _with_shares(
    amounts: Mapping[tuple[str, str], QueueAmounts], facts: Facts, shares: SharesByRow
) -> dict[tuple[str, str], QueueAmounts]:
    """Return amounts with shares, in tree order; a queue without declared amounts may have a share."""
    resources = dict.fromkeys(resource for _, resource in (*amounts, *shares))
    found: dict[tuple[str, str], QueueAmounts] = {}
    for queue in facts.parents:
        for resource in resources:
            key = (queue, resource)
            if key in amounts or key in shares:
                held = amounts.get(key, QueueAmounts(None, None, {}))
                found[key] = replace(held, shares=shares[key]) if key in shares else held
    return found


def _integer(amount: int | Unlimited | None) -> int | None:
    return None if isinstance(amount, Unlimited) else amount


def _owner(queue: str, found: Differences) -> str:
    for facts in (found.head, found.base):
        owner = facts.values.get(Fact(QUEUE, queue, "", ("owner",)))
        if queue in facts.parents:
            return str(owner or "")
    return ""


def pool_headroom(cluster: str, base: PolicyGraph | None, head: PolicyGraph | None) -> tuple[PoolHeadroom, ...]:
    """Return the capacity of a cluster and the guarantees of its top-level queues, for each of their resources.

    Args:
        cluster: The cluster, such as `prod/gpu-1`.
        base: The former policy; None if its structure is invalid.
        head: The changed policy, likewise.
    """
    before, after = (_held(graph, cluster) for graph in (base, head))
    found: list[PoolHeadroom] = []
    for resource in dict.fromkeys((*after, *before)):
        ends = [side.get(resource, _NOTHING) for side in (before, after)]
        capacities, guarantees, one_down = zip(*ends, strict=True)
        found.append(PoolHeadroom(resource, *capacities, *guarantees, *one_down))
    return tuple(found)


_NOTHING: tuple[int | None, int, int | None] = (None, 0, None)
# Capacity, guarantees, and the capacity with one node down.


def _held(graph: PolicyGraph | None, cluster: str) -> Mapping[str, tuple[int | None, int, int | None]]:
    scope = None if graph is None else next((scope for scope in graph.scopes if scope.name == cluster), None)
    return {} if graph is None or scope is None else dict(_rows(graph, scope))


def _rows(graph: PolicyGraph, scope: Scope) -> Iterator[tuple[str, tuple[int | None, int, int | None]]]:
    holdings = {} if scope.cluster is None else cluster_holdings(graph, scope.cluster)
    for resource in resources_of(scope):
        held = capacity(graph, scope, resource)
        amounts = [scope.values[root.id].guaranteed.get(resource, 0) for root in graph.roots]
        total = sum(amount for amount in amounts if not isinstance(amount, Unlimited))
        if held or total:
            yield (
                resource,
                (None if isinstance(held, Unlimited) else held, total, _one_node_down(holdings.get(resource))),
            )


def _one_node_down(holding: Holding | None) -> int | None:
    """Return the capacity without the largest node."""
    if holding is None or holding.largest is None:
        return None
    return holding.capacity - holding.machines[holding.largest.id]

"""The capacity of flavors, and the assignment of amounts to flavors by free capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_compiler.engines.kueue.emit.flavors import Flavor
from apportion_compiler.ir.program import NodePool, Program
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU

RemainingCapacity = dict[str, int | None]
"""Free capacity by flavor name; None if the pools do not determine it."""


def capacity(program: Program, flavor: Flavor, resource: str) -> int | None:
    """Return the maximum capacity of a flavor's machines, in the IR's units; None if it is not declared."""
    pools = flavor.pools or program.pools
    if not pools:
        return None
    return _held(pools, resource)


def _held(pools: Sequence[NodePool], resource: str) -> int | None:
    held = 0
    for pool in pools:
        amount = pool.machine.get(resource, 0 if resource == GPU else None)
        if pool.max_nodes and (amount is None or isinstance(amount, Unlimited)):
            return None
        held += pool.max_nodes * (amount if isinstance(amount, int) else 0)
    return held


def per_device(flavor: Flavor, resource: str) -> int:
    """Return the amount of a resource per thousandth of a GPU on the machines, times 1000; 0 if unknown."""
    held, devices = _held(flavor.pools, resource), _held(flavor.pools, GPU)
    return held * 1000 // devices if held and devices else 0


def assign(amount: int, flavors: Sequence[Flavor], remaining: RemainingCapacity) -> Mapping[str, int]:
    """Assign an amount to flavors, and subtract it from their capacity.

    The whole amount goes to the first flavor with room, existing machines before provisioned ones. If no flavor has
    room for all of it, each gets what fits, and the first one the remainder.
    """
    ordered = sorted(flavors, key=lambda flavor: flavor.preference_rank)
    parts: dict[str, int] = {}
    whole = next((flavor for flavor in ordered if _fits(amount, remaining[flavor.name])), None)
    if whole is not None:
        parts[whole.name] = amount
    else:
        left = amount
        for flavor in ordered:
            part = min(left, max(remaining[flavor.name] or 0, 0))
            if part:
                parts[flavor.name] = part
                left -= part
        if left:
            parts[ordered[0].name] = parts.get(ordered[0].name, 0) + left
    for name, part in parts.items():
        capacity_left = remaining[name]
        remaining[name] = None if capacity_left is None else capacity_left - part
    return parts


def in_proportion(amount: int, flavors: Sequence[Flavor], sizes: Mapping[str, int | None]) -> Mapping[str, int]:
    """Divide an amount in proportion to the flavors' sizes; if no size is known, all of it goes to the first flavor."""
    known = {flavor.name: sizes[flavor.name] or 0 for flavor in flavors}
    whole = sum(known.values())
    if not whole:
        return {flavors[0].name: amount}
    parts = {name: amount * size // whole for name, size in known.items()}
    parts[max(known, key=lambda name: known[name])] += amount - sum(parts.values())
    return parts


def _fits(amount: int, capacity_left: int | None) -> bool:
    return capacity_left is None or capacity_left >= amount

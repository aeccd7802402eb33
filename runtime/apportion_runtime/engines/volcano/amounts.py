"""Resource amounts, compared as in Volcano: only the requested resources count.

Source: pkg/scheduler/api/resource_info.go. Amounts are whole millicores, bytes and units, so Volcano's comparison
tolerance of a tenth of a unit has no effect here.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.snapshots.pod_requests import CPU, MEMORY

Amounts = Mapping[str, int]
UNBOUNDED = 2**62
_PLAIN = (CPU, MEMORY)


def plus(left: Amounts, right: Amounts) -> dict[str, int]:
    """Return the sum."""
    total = dict(left)
    for name, value in right.items():
        total[name] = total.get(name, 0) + value
    return total


def minus(left: Amounts, right: Amounts) -> dict[str, int]:
    """Return the difference, which may be negative."""
    rest = dict(left)
    for name, value in right.items():
        rest[name] = rest.get(name, 0) - value
    return rest


def exceeding(left: Amounts, right: Amounts) -> dict[str, int]:
    """Return the positive part of the difference."""
    return {name: value - right.get(name, 0) for name, value in left.items() if value > right.get(name, 0)}


def largest(left: Amounts, right: Amounts) -> dict[str, int]:
    """Return the larger amount of each resource."""
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in dict.fromkeys((*left, *right))}


def over(used: Amounts, bound: Amounts, asked: Amounts) -> list[str]:
    """Return the requested resources whose usage exceeds the limit; a resource without a limit is unlimited."""
    return [name for name, value in asked.items() if value > 0 and used.get(name, 0) > bound.get(name, 0)]


def fits(asked: Amounts, free: Amounts) -> bool:
    """Return whether all resources suffice."""
    return all(value <= free.get(name, 0) for name, value in asked.items() if value > 0)


def is_empty(amounts: Amounts) -> bool:
    """Return whether all amounts are 0."""
    return not any(value > 0 for value in amounts.values())


def common(left: Amounts, right: Amounts) -> list[str]:
    """Return the resources that are positive on both sides."""
    return [name for name, value in left.items() if value > 0 and right.get(name, 0) > 0]


def has_room_somewhere(used: Amounts, deserved: Amounts, asked: Amounts) -> bool:
    """Return whether the usage of at least one requested resource is within the deserved amount."""
    relevant = [
        name for name, value in asked.items() if value > 0 and (used.get(name, 0) > 0 or deserved.get(name, 0) > 0)
    ]
    return any(used.get(name, 0) <= deserved.get(name, 0) for name in relevant)


def exceeds_somewhere(used: Amounts, deserved: Amounts, asked: Amounts) -> bool:
    """Return whether usage exceeds the deserved amount of at least one requested resource with a deserved amount."""
    relevant = [
        name
        for name, value in asked.items()
        if value > 0 and (deserved.get(name, 0) > 0 if name in _PLAIN else name in deserved)
    ]
    return any(used.get(name, 0) > deserved.get(name, 0) for name in relevant)

"""The share by which Volcano's capacity plugin orders queues: how much of what it deserves a queue has.

Source: volcano-sh/volcano pkg/scheduler/plugins/capacity/capacity.go at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.engines.base.proportions import largest_ratio

BEST_EFFORT = 1.0
"""The share of a queue that deserves nothing: it comes after every queue that has less than it deserves."""
_LEAST = 0.1


def capacity_share(deserved: Mapping[str, float], allocated: Mapping[str, float]) -> float:
    """Return the largest part that a queue has of what it deserves.

    Args:
        deserved: By resource, in Volcano's units (cpu and devices in thousandths, memory in bytes). Amounts below a
            tenth of a unit do not count; what a queue has of resources that it does not deserve counts neither.
        allocated: The same of what it has. What it asks for beyond that changes nothing.
    """
    counted = {name: amount for name, amount in deserved.items() if amount >= _LEAST}
    if not counted:
        return BEST_EFFORT
    return largest_ratio((name, allocated.get(name, 0.0) / amount) for name, amount in counted.items())[1]

"""Whether the work of a priority class may be evicted for others, where the class says so and where it does not."""

from __future__ import annotations

from apportion_policy.priority import PriorityClass

NON_PREEMPTIBLE_FROM = 100
"""KAI's rule where nothing is said: a priority of 100 and more is not preemptible (pkg/common/podgroup/preemptible.go)."""


def is_preemptible(cls: PriorityClass) -> bool:
    """Return the declared word, or what KAI derives from the value."""
    return cls.value < NON_PREEMPTIBLE_FROM if cls.preemptible is None else cls.preemptible

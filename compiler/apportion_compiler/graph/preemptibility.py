"""Whether the work of a priority class may be evicted for others, where the class says so and where it does not."""

from __future__ import annotations

from apportion_policy.priority import NON_PREEMPTIBLE_FROM, PriorityClass


def is_preemptible(cls: PriorityClass) -> bool:
    """Return the declared word, or what KAI derives from the value."""
    return cls.value < NON_PREEMPTIBLE_FROM if cls.preemptible is None else cls.preemptible

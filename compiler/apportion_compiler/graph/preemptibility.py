"""Preemptibility of a priority class: declared, or derived from its value."""

from __future__ import annotations

from apportion_policy.priority import NON_PREEMPTIBLE_FROM, PriorityClass


def is_preemptible(cls: PriorityClass) -> bool:
    """Return the declared preemptibility, or the one that KAI derives from the value."""
    return cls.value < NON_PREEMPTIBLE_FROM if cls.preemptible is None else cls.preemptible

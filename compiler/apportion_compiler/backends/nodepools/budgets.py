"""A maintenance window as Karpenter's disruption budgets: outside of it nothing is disturbed.

A budget holds from a time of cron for a duration, and the strictest of those that hold counts. So the time outside of
the window is a budget of no nodes, from the window's end until its next start.
"""

from __future__ import annotations

from apportion_compiler.maintenance_windows import closed_time
from apportion_policy.pool import Maintenance

_DEFAULT_BUDGET = {"nodes": "10%"}
"""Karpenter's own where no budget is given; any that is given takes its place."""


def disruption_budgets(maintenance: Maintenance | None) -> list[dict[str, object]]:
    """Return the budgets of a window; none where there is no window, or none that Karpenter can hold to.

    Nodes that stand empty are removed at any time: that disturbs nobody.
    """
    window = None if maintenance is None else maintenance.window
    closed = None if window is None else closed_time(window)
    if closed is None:
        return []
    barred: dict[str, object] = {
        "nodes": "0",
        "reasons": ["Underutilized", "Drifted"],
        "schedule": closed.schedule,
        "duration": _duration(closed.n_minutes),
    }
    return [dict(_DEFAULT_BUDGET), barred]


def _duration(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours}h{rest}m" if hours and rest else f"{hours}h" if hours else f"{rest}m"

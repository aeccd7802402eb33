"""A maintenance window as Karpenter's disruption budgets: no disruption outside the window.

A budget is active for a duration from a cron time, and the strictest active budget applies. So the time outside the
window becomes a budget of zero nodes, from the end of the window until its next start.
"""

from __future__ import annotations

from apportion_compiler.maintenance_windows import closed_time
from apportion_policy.pool import Maintenance

_DEFAULT_BUDGET = {"nodes": "10%"}
"""Karpenter's default if no budget is set; any budget replaces it."""


def disruption_budgets(maintenance: Maintenance | None) -> list[dict[str, object]]:
    """Return the budgets of a window; none without a window, or if Karpenter cannot represent it.

    Empty nodes are removed at any time, because that disrupts no pods.
    """
    window = None if maintenance is None else maintenance.window
    closed = None if window is None else closed_time(window)
    if closed is None:
        return []
    budget: dict[str, object] = {
        "nodes": "0",
        "reasons": ["Underutilized", "Drifted"],
        "schedule": closed.schedule,
        "duration": _duration(closed.n_minutes),
    }
    return [dict(_DEFAULT_BUDGET), budget]


def _duration(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return f"{hours}h{rest}m" if hours and rest else f"{hours}h" if hours else f"{rest}m"

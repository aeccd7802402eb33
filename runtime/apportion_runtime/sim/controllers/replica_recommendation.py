"""The replica recommendation of a HorizontalPodAutoscaler: formula, tolerance, stabilization windows and scaling policies.

Source: pkg/controller/podautoscaler (horizontal.go, replica_calculator.go), pkg/apis/autoscaling/v2/defaults.go at
Kubernetes v1.36.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TOLERANCE = 0.1
SYNC_S = 15.0
_DOWN_WINDOW_S = 300.0
_PERCENT, _MIN_CHANGE, _DISABLED = "Percent", "Min", "Disabled"
_LEAST_UP_LIMIT = 4


@dataclass(frozen=True, slots=True)
class Policy:
    """A scaling policy: the maximum change in a period, in pods or percent."""

    is_percent: bool
    value: int
    period_s: float


@dataclass(frozen=True, slots=True)
class Rules:
    """The scaling rules of one direction."""

    window_s: float
    policies: tuple[Policy, ...]
    select: str = "Max"
    tolerance: float = TOLERANCE


_UP = Rules(0.0, (Policy(is_percent=False, value=4, period_s=15.0), Policy(is_percent=True, value=100, period_s=15.0)))
_DOWN = Rules(_DOWN_WINDOW_S, (Policy(is_percent=True, value=100, period_s=15.0),))


@dataclass(frozen=True, slots=True)
class Behavior:
    """The scaling rules of both directions; `is_specified` is whether the object specifies any."""

    up: Rules = _UP
    down: Rules = _DOWN
    is_specified: bool = False


def read_behavior(written: Mapping[str, Any] | None) -> Behavior:
    """Return the behavior of an object, with defaults for unset fields."""
    if written is None:
        return Behavior()
    return Behavior(_rules(written.get("scaleUp"), _UP), _rules(written.get("scaleDown"), _DOWN), is_specified=True)


def _rules(written: Mapping[str, Any] | None, default: Rules) -> Rules:
    settings = written or {}
    policies = tuple(
        Policy(each.get("type") == _PERCENT, int(each.get("value") or 0), float(each.get("periodSeconds") or 0))
        for each in settings.get("policies") or ()
    )
    window, tolerance = settings.get("stabilizationWindowSeconds"), settings.get("tolerance")
    return Rules(
        default.window_s if window is None else float(window),
        policies or default.policies,
        settings.get("selectPolicy") or default.select,
        default.tolerance if tolerance is None else float(tolerance),
    )


@dataclass(slots=True)
class AutoscalerHistory:
    """The history of an autoscaler: its recommendations, and its scale-up and scale-down events."""

    wanted: list[tuple[float, int]] = field(default_factory=list)
    ups: list[tuple[float, int]] = field(default_factory=list)
    downs: list[tuple[float, int]] = field(default_factory=list)


def replicas_by_average(
    values: Sequence[float], n_pending: int, target: float, current: int, behavior: Behavior
) -> int | None:
    """Return the replicas for which the average over pods meets the target; None without any value.

    Args:
        values: The values of running pods.
        n_pending: Pods that are not running yet; they count as idle when scaling up.
        target: The target average.
        current: The current number of replicas.
        behavior: The behavior of the object.
    """
    if not values:
        return None
    ratio = _mean(values) / target
    if not (n_pending and ratio > 1.0):
        return current if is_within(ratio, behavior) else math.ceil(ratio * len(values))
    considered = len(values) + n_pending
    with_idle = sum(values) / considered / target
    if is_within(with_idle, behavior) or with_idle < 1.0:
        return current
    return max(current, math.ceil(with_idle * considered))


def replicas_by_total(total: float, target: float, current: int, behavior: Behavior) -> int:
    """Return the replicas for which a total per replica meets the target."""
    return current if current and is_within(total / (target * current), behavior) else math.ceil(total / target)


def replicas_by_value(value: float, target: float, n_ready: int, current: int, behavior: Behavior) -> int:
    """Return the replicas for which a value that falls with their number meets the target."""
    ratio = value / target
    return current if is_within(ratio, behavior) else math.ceil(ratio * n_ready)


def is_within(ratio: float, behavior: Behavior) -> bool:
    """Return whether a ratio is within the tolerance."""
    return 1.0 - behavior.down.tolerance <= ratio <= 1.0 + behavior.up.tolerance


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def stabilised(past: AutoscalerHistory, behavior: Behavior, now: float, current: int, wanted: int) -> int:
    """Record a recommendation, and return it stabilized over the windows of both directions."""
    if behavior.is_specified:
        up = min([wanted, *(n for at, n in past.wanted if at > now - behavior.up.window_s)])
        down = max([wanted, *(n for at, n in past.wanted if at > now - behavior.down.window_s)])
        steady = min(max(current, up), down)
    else:
        steady = max([wanted, *(n for at, n in past.wanted if at > now - _DOWN_WINDOW_S)])
    longest = max(behavior.up.window_s, behavior.down.window_s, _DOWN_WINDOW_S)
    past.wanted = [(at, n) for at, n in past.wanted if at > now - longest]
    past.wanted.append((now, wanted))
    return steady


def limited(
    past: AutoscalerHistory, behavior: Behavior, now: float, *, current: int, wanted: int, bounds: tuple[int, int]
) -> int:
    """Return a recommendation limited to the bounds and scaling policies of the object."""
    least, most = bounds
    if not behavior.is_specified:
        return max(least, min(wanted, most, max(2 * current, _LEAST_UP_LIMIT)))
    if wanted > current:
        return min(wanted, most, max(current, _limit(past, behavior.up, now, current, grows=True)))
    if wanted < current:
        return max(wanted, least, min(current, _limit(past, behavior.down, now, current, grows=False)))
    return wanted


def _limit(past: AutoscalerHistory, rules: Rules, now: float, current: int, *, grows: bool) -> int:
    if rules.select == _DISABLED or not rules.policies:
        return current
    proposed: list[int] = []
    for policy in rules.policies:
        since = now - policy.period_s
        changed = sum(n for at, n in past.ups if at > since) - sum(n for at, n in past.downs if at > since)
        start = current - changed
        sign = 1 if grows else -1
        if not policy.is_percent:
            proposed.append(start + sign * policy.value)
        else:
            share = start * (1 + sign * policy.value / 100)
            proposed.append(math.ceil(share) if grows else int(share))
    takes_most = (rules.select != _MIN_CHANGE) is grows
    return max(proposed) if takes_most else min(proposed)


def remember(past: AutoscalerHistory, now: float, before: int, after: int) -> None:
    """Record a change of the number of replicas."""
    (past.ups if after > before else past.downs).append((now, abs(after - before)))

"""Scores of nodes by the resource-strategy-fit and binpack plugins.

Source: pkg/scheduler/plugins/resource-strategy-fit, binpack.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.kube_scheduler.profiles import MOST
from apportion_runtime.engines.volcano.amounts import Amounts

_MOST_SCORE = 100
_FIT_WEIGHT = 10


def strategy_score(request: Amounts, node: NodeState, arguments: Mapping[str, object]) -> float:
    """Return the score of the resource-strategy-fit plugin."""
    written = arguments.get("resources")
    resources = written if isinstance(written, Mapping) and written else {"cpu": {}, "memory": {}}
    total = weights = 0.0
    for name, asked in request.items():
        argument = resources.get(name)
        if argument is None or not asked:
            continue
        weight = float(argument.get("weight") or 1)
        capacity = node.allocatable.get(name, 0)
        used = node.requested.get(name, 0) + asked
        if capacity == 0 or used > capacity:
            return 0.0
        part = used / capacity if argument.get("type") == MOST else (capacity - used) / capacity
        total += weight * part
        weights += weight
    overall = arguments.get("resourceStrategyFitWeight")
    factor = _FIT_WEIGHT if overall is None else float(str(overall))
    return total / weights * _MOST_SCORE * factor if weights else 0.0


def binpack_score(request: Amounts, node: NodeState, arguments: Mapping[str, object]) -> float:
    """Return the score of the binpack plugin; 0 if the node lacks room for any of the weighted resources."""
    weight = int(str(arguments.get("binpack.weight", 1)))
    extended = [name.strip() for name in str(arguments.get("binpack.resources") or "").split(",") if name.strip()]
    total = weights = 0.0
    for name in ("cpu", "memory", *extended):
        own = int(str(arguments.get(f"binpack.{'resources.' if name in extended else ''}{name}", 1)))
        asked = request.get(name, 0)
        if not asked:
            continue
        capacity = node.allocatable.get(name, 0)
        used = node.requested.get(name, 0) + asked
        if capacity and own:
            if used > capacity:
                return 0.0
            total += used * own / capacity
        weights += own
    return total / weights * _MOST_SCORE * weight if weights else 0.0

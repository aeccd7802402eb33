"""Requirements on labels: those of node selector terms, label selectors and pod affinity terms.

Source: k8s.io/apimachinery pkg/labels/selector.go (Requirement.Matches).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from apportion_runtime.core.pod_constraints import Expression


def matches(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Return whether labels match a requirement; one with an unknown operator matches none."""
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value is not None and value in expression.values
        case "NotIn":
            return value is None or value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return _ordered(value, expression.values, lambda a, b: a > b)
        case "Lt":
            return _ordered(value, expression.values, lambda a, b: a < b)
        case _:
            return False


def _ordered(value: str | None, bounds: tuple[str, ...], before: Callable[[int, int], bool]) -> bool:
    if value is None or len(bounds) != 1:
        return False
    left, right = _number(value), _number(bounds[0])
    return left is not None and right is not None and before(left, right)


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None

"""The status of a node that lacks resources."""

from __future__ import annotations

from functools import cache

from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus


@cache
def insufficient(names: tuple[str, ...]) -> FilterStatus:
    """Return the status of a node that lacks resources."""
    return FilterStatus(tuple(f"Insufficient {name}" for name in names))

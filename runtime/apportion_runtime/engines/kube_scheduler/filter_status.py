"""The status of a filter for a node, as kube-scheduler's `framework.Status`: why the node does not fit a pod."""

from __future__ import annotations

from typing import NamedTuple


class FilterStatus(NamedTuple):
    """Why a node does not fit a pod; `for_good` if no eviction would help."""

    reasons: tuple[str, ...]
    for_good: bool = False

"""Random trees of Koordinator's and KAI's queues that the engines accept, generated independently of the compiler."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from apportion_api.koordinator.names import (
    FORCE_UPDATE_LABEL,
    IS_PARENT_LABEL,
    NAMESPACES_ANNOTATION,
    PARENT_LABEL,
    QUOTA_NAMESPACE,
    ROOT_QUOTA,
    SHARED_WEIGHT_ANNOTATION,
)

Tree = list[dict[str, Any]]
_NAMES = ("a", "b", "c", "d", "e", "f")
_SPACES = ("s1", "s2", "s3", "s4")
_KINDS = (("cpu",), ("cpu", "nvidia.com/gpu"))


@st.composite
def quota_trees(draw: st.DrawFn) -> Tree:
    """Draw Koordinator quotas: equal sets of resources, namespaces on leaves, sums that fit; parents first."""
    parents = _parents(draw)
    resources = draw(st.sampled_from(_KINDS))
    least = _sums(draw, parents, resources)
    leaves = [name for name in parents if name not in parents.values()]
    owner = {space: draw(st.sampled_from((None, *leaves))) for space in _SPACES} if leaves else {}
    return [
        {
            "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
            "kind": "ElasticQuota",
            "metadata": {
                "name": name,
                "namespace": QUOTA_NAMESPACE,
                "labels": {
                    PARENT_LABEL: parents[name] or ROOT_QUOTA,
                    IS_PARENT_LABEL: "false" if name in leaves else "true",
                    FORCE_UPDATE_LABEL: "true",
                },
                "annotations": {
                    NAMESPACES_ANNOTATION: json.dumps([s for s, o in owner.items() if o == name]),
                    SHARED_WEIGHT_ANNOTATION: json.dumps(dict.fromkeys(resources, "1")),
                },
            },
            "spec": {
                "min": {r: str(least[name][r]) for r in resources},
                "max": dict.fromkeys(resources, "100"),
            },
        }
        for name in parents
    ]


@st.composite
def queue_trees(draw: st.DrawFn) -> Tree:
    """Draw KAI queues: sums of quotas that fit, no limits; parents first."""
    parents = _parents(draw)
    least = _sums(draw, parents, ("cpu", "memory", "gpu"))
    return [
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {
                **({} if parents[name] is None else {"parentQueue": parents[name]}),
                "resources": {
                    resource: {"quota": amount, "limit": -1, "overQuotaWeight": 1}
                    for resource, amount in least[name].items()
                },
            },
        }
        for name in parents
    ]


def _parents(draw: Callable[..., Any]) -> dict[str, str | None]:
    names = draw(st.lists(st.sampled_from(_NAMES), unique=True, max_size=len(_NAMES)))
    parents: dict[str, str | None] = {}
    for name in names:
        parents[name] = draw(st.sampled_from((None, *parents)))
    return parents


def _sums(
    draw: Callable[..., Any], parents: dict[str, str | None], resources: tuple[str, ...]
) -> dict[str, dict[str, int]]:
    least: dict[str, dict[str, int]] = {}
    for name in reversed(parents):
        below = [least[child] for child in parents if parents[child] == name]
        least[name] = {r: sum(b[r] for b in below) + draw(st.integers(0, 3)) for r in resources}
    return least

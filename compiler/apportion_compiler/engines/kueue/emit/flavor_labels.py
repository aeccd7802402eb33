"""`nodeLabels` of a ResourceFlavor: the labels that select its nodes, and others that all of its nodes have.

Kueue matches a pod's node selector only by the label keys of a flavor, and adds all labels of the flavor to the node
selectors of an admitted workload. So a flavor must have the keys that users select by, and no label that some node
lacks.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/flavorassigner/flavorassigner.go, flavorSelector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from apportion_compiler.backends.pool_labels import declared_labels, provider_labels
from apportion_compiler.ir.program import NodePool, Program
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL, POOL_LABEL

_MAX_LABELS = 8
_FIRST_LABELS = (POOL_LABEL, GPU_MODEL_LABEL)


def distinguishing_labels(program: Program, pools: Sequence[NodePool]) -> Mapping[str, str]:
    """Return the labels that distinguish pools. The machine type is excluded, because names must not depend on it."""
    common = _common(declared_labels(program, pool) for pool in pools)
    return {key: common[key] for key in sorted(common, key=lambda key: (key not in _FIRST_LABELS, key))[:_MAX_LABELS]}


def flavor_labels(program: Program, pools: Sequence[NodePool]) -> Mapping[str, str]:
    """Return a flavor's labels, including as many of the provider's as fit.

    Kueue matches a pod's node selector only by the label keys of a flavor.
    """
    labels = dict(distinguishing_labels(program, pools))
    for key, value in sorted(_common(provider_labels(pool) for pool in pools).items()):
        if key in labels or len(labels) < _MAX_LABELS:
            labels[key] = value
    return dict(sorted(labels.items()))


def _common(of_pools: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    first, *others = of_pools
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}

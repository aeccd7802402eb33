"""`nodeLabels` of a ResourceFlavor: by which labels its nodes are selected, and which others they carry for certain.

Kueue compares a pod's node selector with a flavor in those keys only that the flavor has, and gives the pods of an
admitted workload all of the flavor's labels as a node selector. So a key that users select by has to be on the flavor,
and a label that some node lacks must not be.

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
    """Return the labels that tell pools from others. The machine type is none of them, so that it decides no name."""
    common = _common(declared_labels(program, pool) for pool in pools)
    return {key: common[key] for key in sorted(common, key=lambda key: (key not in _FIRST_LABELS, key))[:_MAX_LABELS]}


def flavor_labels(program: Program, pools: Sequence[NodePool]) -> Mapping[str, str]:
    """Return a flavor's labels: with the provider's, as far as there is room, since Kueue compares a pod's node selector
    with a flavor only in keys that the flavor has.
    """
    labels = dict(distinguishing_labels(program, pools))
    for key, value in sorted(_common(provider_labels(pool) for pool in pools).items()):
        if key in labels or len(labels) < _MAX_LABELS:
            labels[key] = value
    return dict(sorted(labels.items()))


def _common(of_pools: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    first, *others = of_pools
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}

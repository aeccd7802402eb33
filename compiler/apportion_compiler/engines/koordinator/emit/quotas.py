"""ElasticQuota (scheduling.sigs.k8s.io/v1alpha1): parents before children, with the same resources throughout a tree.

Koordinator's webhook rejects a quota whose `max` has other keys than its parent's (pkg/webhook/elasticquota/
quota_topology_check.go at a7a1b76b, checkSubAndParentGroupQuotaKey). It also rejects every object with which the
children's minima exceed their parent's, even temporarily, unless the quota has `allow-force-update`, which is set
because the compiler checks the sums and objects are applied one by one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from apportion_api.koordinator.names import (
    ALLOW_LENT_LABEL,
    FORCE_UPDATE_LABEL,
    IS_PARENT_LABEL,
    NAMESPACES_ANNOTATION,
    PARENT_LABEL,
    QUOTA_API,
    QUOTA_NAMESPACE,
    SHARED_WEIGHT_ANNOTATION,
    TREE_ID_LABEL,
)
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.quota_tree import quantity_text
from apportion_compiler.engines.koordinator.emit.trees import Tree
from apportion_compiler.engines.koordinator.names import STAND_IN_ANNOTATION, WEIGHT_UNIT_ANNOTATION
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import is_over, weight_text
from apportion_policy.resources import GPU

_ONE = 1000
"""A weight of 1 in the IR, the default."""


def quotas(program: Program, trees: Sequence[Tree]) -> Iterator[Manifest]:
    """Yield the quotas, tree by tree."""
    unit = _weight_unit(trees)
    for tree in trees:
        for queue in tree.queues:
            yield _quota(program, queue, tree, unit)


def lends_nothing(queue: Queue) -> bool:
    """Return whether a queue lends none of its guarantee."""
    guaranteed = {resource for resource, amount in queue.guaranteed.items() if amount != 0}
    return bool(guaranteed) and all(queue.lending_limit.get(resource) == 0 for resource in _counted(guaranteed))


def lends_partially(queue: Queue) -> bool:
    """Return whether a queue lends part of its guarantee: Koordinator lends all of it or none."""
    kept: list[bool] = []
    for resource in _counted({r for r, amount in queue.guaranteed.items() if amount != 0}):
        lending_limit = queue.lending_limit.get(resource)
        if lending_limit is not None and lending_limit != 0 and is_over(queue.guaranteed[resource], lending_limit):
            return True
        kept.append(lending_limit == 0)
    return any(kept) and not all(kept)


def weighs_nothing(queue: Queue, tree: Tree) -> bool:
    """Return whether all weights of a queue in a tree are 0; Koordinator treats such weights as unset."""
    return bool(tree.numbers.total) and all(_weight(queue, resource) == 0 for resource in tree.numbers.total)


def _counted(resources: set[str]) -> set[str]:
    """Return the resources without the total of GPUs, if they are counted by model."""
    by_model = any(resource.startswith(f"{GPU}/") for resource in resources)
    return resources - {GPU} if by_model else resources


def _quota(program: Program, queue: Queue, tree: Tree, unit: int) -> Manifest:
    labels = {
        PARENT_LABEL: tree.root if queue.parent is None else tree.names[queue.parent],
        IS_PARENT_LABEL: _flag(value=not queue.is_leaf),
        ALLOW_LENT_LABEL: _flag(value=not lends_nothing(queue)),
        FORCE_UPDATE_LABEL: "true",
    }
    annotations = {SHARED_WEIGHT_ANNOTATION: _json(_weights(queue, tree, unit))}
    if unit != _ONE:
        annotations[WEIGHT_UNIT_ANNOTATION] = weight_text(unit)
    if tree.tree_id is not None:
        labels[TREE_ID_LABEL] = tree.tree_id
    elif queue.namespaces:
        # A namespace has one quota; workloads for a counted GPU model set the quota's label.
        annotations[NAMESPACES_ANNOTATION] = _json(list(queue.namespaces))
    if stand_ins := tree.numbers.stand_ins.get(queue.id):
        annotations[STAND_IN_ANNOTATION] = ",".join(stand_ins)
    return {
        "apiVersion": QUOTA_API,
        "kind": "ElasticQuota",
        "metadata": metadata(
            program,
            tree.names[queue.id],
            queue.source,
            namespace=QUOTA_NAMESPACE,
            queue=queue,
            labels=labels,
            annotations=annotations,
        ),
        "spec": {
            "min": _texts(tree.numbers.minimum[queue.id]),
            "max": _texts(tree.numbers.maximum[queue.id]),
        },
    }


def _weights(queue: Queue, tree: Tree, unit: int) -> dict[str, str]:
    """Return the weights as integers; the webhook requires the same keys as in `max`.

    If all are 0, each is set to the minimum, because all zeros would be replaced by the maximum (GetSharedWeight).
    """
    if weighs_nothing(queue, tree):
        return {_key(resource): "1" for resource in tree.numbers.total}
    return {_key(resource): str(_weight(queue, resource) // unit) for resource in tree.numbers.total}


def _weight(queue: Queue, resource: str) -> int:
    return queue.weight.get(resource, _ONE)


def _weight_unit(trees: Sequence[Tree]) -> int:
    """Return 1000 if all weights are whole, else 1: siblings share in proportion to integer weights."""
    whole = all(
        _weight(queue, resource) % _ONE == 0 and not weighs_nothing(queue, tree)
        for tree in trees
        for queue in tree.queues
        for resource in tree.numbers.total
    )
    return _ONE if whole else 1


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {_key(resource): quantity_text(resource, amount) for resource, amount in amounts.items()}


def _key(resource: str) -> str:
    return GPU_RESOURCE if resource == GPU else resource


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _flag(*, value: bool) -> str:
    return "true" if value else "false"

"""The quota trees of a cluster: one for all nodes and, if quotas distinguish GPU models, one for each model.

A tree counts GPUs regardless of their model. Koordinator supports several trees, each for the nodes that an
ElasticQuotaProfile selects (gate MultiQuotaTree, docs/proposals/scheduling/20240206-multi-tree-quota.md); the webhook
restricts pods of a tree's quotas to its nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.koordinator.names import (
    IS_PARENT_LABEL,
    PROFILE_API,
    QUOTA_NAMESPACE,
    RESOURCE_KEYS_ANNOTATION,
    ROOT_QUOTA,
    TREE_ID_LABEL,
)
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.partitions import Partition, QueueNames, partitions_of, queue_names
from apportion_compiler.backends.quota_tree import (
    AmountOf,
    QuotaTree,
    cluster_sizes,
    guaranteed_amount,
    limit_amount,
    managed_resources,
    quota_tree,
    whole_gpus,
)
from apportion_compiler.ir.once_per_program import once_per_program
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import label_value, object_name
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_policy.quantity import UNLIMITED, Amount, Unlimited
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource


@dataclass(frozen=True, slots=True)
class Tree:
    """A quota tree. `model` is None for the tree of all other nodes; `root` is the quota above its queues."""

    model: str | None
    root: str
    queues: tuple[Queue, ...]
    names: QueueNames
    numbers: QuotaTree

    @property
    def tree_id(self) -> str | None:
        """The value of the tree's label."""
        return None if self.model is None else label_value(self.model)


@once_per_program
def trees_of(program: Program) -> tuple[Tree, ...]:
    """Return the trees, starting with the one without a model."""
    partitions = partitions_of(program)
    names = queue_names(program, partitions)
    taken = {name for of_tree in names for name in of_tree.values()}
    divided = len(partitions) > 1
    return tuple(
        _tree(program, partition, of_tree, taken, divided=divided)
        for partition, of_tree in zip(partitions, names, strict=True)
    )


def profiles(program: Program, trees: Sequence[Tree]) -> Iterator[Manifest]:
    """Yield the ElasticQuotaProfile of each model's tree, from which Koordinator creates the tree's root."""
    for tree in trees:
        if tree.model is None or tree.tree_id is None:
            continue
        yield {
            "apiVersion": PROFILE_API,
            "kind": "ElasticQuotaProfile",
            "metadata": metadata(
                program,
                tree.root,
                program.source,
                namespace=QUOTA_NAMESPACE,
                labels={TREE_ID_LABEL: tree.tree_id},
                annotations={RESOURCE_KEYS_ANNOTATION: json.dumps([GPU_RESOURCE])},
            ),
            "spec": {
                "quotaName": tree.root,
                "quotaLabels": {IS_PARENT_LABEL: "true"},
                "nodeSelector": {"matchLabels": {GPU_MODEL_LABEL: label_value(tree.model)}},
            },
        }


def _tree(program: Program, partition: Partition, names: QueueNames, taken: set[str], *, divided: bool) -> Tree:
    queues = tuple(queue for queue in program.queues if queue.id in names)
    model = partition.model
    if model is None:
        sizes = cluster_sizes(program, managed_resources(program), partition.pools if divided else None)
        if divided:
            # GPUs of a counted model are in its own tree, and there are no others; a quota without GPUs would be
            # unlimited.
            ordinary = {resource: sizes.pop(resource) for resource in (CPU, MEMORY) if resource in sizes}
            sizes = {**ordinary, GPU: 0, **{r: size for r, size in sizes.items() if r != GPU}}
        numbers = quota_tree(
            queues, sizes, _elsewhere if divided else guaranteed_amount, _nowhere if divided else limit_amount
        )
        return Tree(None, ROOT_QUOTA, queues, names, numbers)
    sizes = cluster_sizes(program, (GPU,), partition.pools)
    numbers = quota_tree(queues, sizes, _guaranteed_of(model), _bound_of(model))
    return Tree(model, _root_name(model, taken), queues, names, numbers)


def _root_name(model: str, taken: set[str]) -> str:
    plain = object_name(f"gpu-tree-{model}")
    # An identity with a slash never fits, so this form always has the digest.
    return object_name(f"gpu-tree/{model}") if plain in taken else plain


def _elsewhere(queue: Queue, resource: str) -> Amount:
    return 0 if resource == GPU else guaranteed_amount(queue, resource)


def _nowhere(queue: Queue, resource: str) -> Amount:
    return 0 if resource == GPU else limit_amount(queue, resource)


def _guaranteed_of(model: str) -> AmountOf:
    def guaranteed(queue: Queue, resource: str) -> Amount:
        whole = guaranteed_amount(queue, GPU)
        # An UNLIMITED guarantee applies to every model; any other guarantee without a model applies to none.
        anywhere = whole if isinstance(whole, Unlimited) and not _counts_by_model(queue.guaranteed) else 0
        return whole_gpus(queue.guaranteed.get(gpu_resource(model), anywhere))

    return guaranteed


def _bound_of(model: str) -> AmountOf:
    def bound(queue: Queue, resource: str) -> Amount:
        return whole_gpus(queue.limit.get(gpu_resource(model), queue.limit.get(GPU, UNLIMITED)))

    return bound


def _counts_by_model(amounts: Mapping[str, Amount]) -> bool:
    return any(resource.startswith(f"{GPU}/") for resource in amounts)

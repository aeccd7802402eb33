"""ElasticQuotaTree (scheduling.sigs.k8s.io/v1beta1): the whole policy in one object, each resource on every node.

A key missing from `max` means unlimited, and one missing from `min` means either zero or unlimited, depending on the
function (koord-queue elasticquotatree/elasticquota.go, UsedOverMin and UsedOverMinWithOverSell), so every key is
written. The root is above all queues: its `min` and `max` are the cluster's size, and the documentation requires them
to be equal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from apportion_api.ack.names import LEND_LIMIT_ATTRIBUTE, ROOT, TREE_API, TREE_NAME, TREE_NAMESPACE
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.quota_tree import (
    QuotaTree,
    cluster_sizes,
    declared_amount,
    guaranteed_amount,
    limit_amount,
    managed_resources,
    quantity_text,
    quota_tree,
)
from apportion_compiler.engines.ack.names import (
    OWNER_ATTRIBUTE,
    QUEUE_ID_ATTRIBUTE,
    STAND_IN_ATTRIBUTE,
    node_names,
    root_queue,
)
from apportion_compiler.ir.once_per_program import once_per_program
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import GPU


def elastic_quota_tree(program: Program) -> Manifest:
    """Return the only tree of a cluster."""
    return {
        "apiVersion": TREE_API,
        "kind": "ElasticQuotaTree",
        "metadata": metadata(program, TREE_NAME, program.source, namespace=TREE_NAMESPACE),
        "spec": {"root": _root(program)},
    }


@once_per_program
def tree_numbers(program: Program) -> QuotaTree:
    """Return `min` and `max` of each node."""
    sizes = cluster_sizes(program, managed_resources(program))
    top = root_queue(program)
    # A queue that is itself the root has its own amounts instead of the cluster's size.
    queues = [queue for queue in program.queues if queue is not top]
    if top is not None:
        for resource in sizes:
            own = limit_amount(top, resource)
            sizes[resource] = sizes[resource] if isinstance(own, Unlimited) else own
    return quota_tree(queues, sizes, guaranteed_amount, limit_amount)


def _root(program: Program) -> Manifest:
    numbers, names, top = tree_numbers(program), node_names(program), root_queue(program)
    total = _texts(numbers.total)
    root: Manifest = {"name": ROOT, "min": total, "max": dict(total)}
    owners = {queue.id: queue.owner for queue in program.queues}
    children: dict[str | None, list[Manifest]] = {}
    for queue in reversed(program.queues):
        if queue is not top:
            above = None if queue.parent is None else owners[queue.parent]
            node = _node(queue, names[queue.id], numbers, children.pop(queue.id, [])[::-1], owner_above=above)
            children.setdefault(queue.parent, []).append(node)
    if top is not None:
        open_ = [resource for resource in numbers.total if isinstance(limit_amount(top, resource), Unlimited)]
        root["attributes"] = {
            QUEUE_ID_ATTRIBUTE: ROOT,
            **({OWNER_ATTRIBUTE: top.owner} if top.owner is not None else {}),
            **({STAND_IN_ATTRIBUTE: ",".join(open_)} if open_ else {}),
        }
    if below := children.get(None if top is None else top.id):
        root["children"] = below[::-1]
    return root


def _node(
    queue: Queue, name: str, numbers: QuotaTree, children: list[Manifest], *, owner_above: str | None
) -> Manifest:
    node: Manifest = {
        "name": name,
        "min": _texts(numbers.minimum[queue.id]),
        "max": _texts(numbers.maximum[queue.id]),
    }
    if attributes := _attributes(queue, name, numbers, owner_above):
        node["attributes"] = attributes
    if queue.namespaces:
        node["namespaces"] = list(queue.namespaces)
    if children:
        node["children"] = children
    return node


def _attributes(queue: Queue, name: str, numbers: QuotaTree, owner_above: str | None) -> dict[str, str]:
    """Return the node's attributes: its lending limits, and what its name and amounts cannot represent."""
    attributes: dict[str, str] = {}
    if queue.owner is not None and queue.owner != owner_above:
        attributes[OWNER_ATTRIBUTE] = queue.owner
    if queue.id != name:
        attributes[QUEUE_ID_ATTRIBUTE] = queue.id
    if stand_ins := numbers.stand_ins.get(queue.id):
        attributes[STAND_IN_ATTRIBUTE] = ",".join(stand_ins)
    minimum = numbers.minimum[queue.id]
    lending_limits = _lent(queue, minimum)
    if lending_limits != minimum:
        attributes[LEND_LIMIT_ATTRIBUTE] = json.dumps(_texts(lending_limits), separators=(",", ":"))
    return attributes


def _lent(queue: Queue, minimum: Mapping[str, int]) -> Mapping[str, int]:
    """Return how much of each resource may be lent; kube-queue does not lend an omitted resource."""
    lending_limits: dict[str, int] = {}
    for resource, amount in minimum.items():
        own = declared_amount(queue.lending_limit, resource)
        lending_limits[resource] = amount if own is None or isinstance(own, Unlimited) else min(own, amount)
    return lending_limits


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {
        GPU_RESOURCE if resource == GPU else resource: quantity_text(resource, amount)
        for resource, amount in amounts.items()
    }

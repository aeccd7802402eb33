"""Usable GPUs of the quotas in ACK's ElasticQuotaTree.

ACK does not divide: a quota reclaims up to its own `min`, and its jobs start up to the `max` of it and its ancestors.

Source: help.aliyun.com, "Enable preemptive scheduling"; koordinator-sh/koord-queue at 298e9a8c,
pkg/framework/plugins/elasticquota, in `apportion_runtime.engines.ack`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.ack.names import ROOT
from apportion_api.ack.objects import ElasticQuotaTree
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.objects import read
from apportion_compiler.engines.ack.names import QUEUE_ID_ATTRIBUTE
from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.fates.workloads import of_group
from apportion_review.shares.counted_resources import counted_resource
from apportion_review.shares.division_records import THOUSANDTHS, ClaimInputs, Division, DivisionInputs
from apportion_review.shares.guaranteed_shares import Reservation, reserved_divisions
from apportion_review.shares.share_engine import CAN_USE, ShareEngine
from apportion_review.shares.snapshot_gpus import snapshot_gpus
from apportion_runtime.kube_queue.tree import Tree, read_tree


def ack_inputs(
    objects: Sequence[Manifest],
    capacities: Mapping[str, int | None],
    requested: Mapping[str, int] | None = None,
) -> Iterator[DivisionInputs]:
    """Yield the inputs of the quotas.

    Args:
        objects: Compiled objects of a cluster.
        capacities: Capacity of each resource, in thousandths of a GPU; resources without one are skipped.
        requested: GPUs that the pods of each quota request, by path; None if every leaf requests all resources.

    Raises:
        ValueError: If the tree is invalid.
    """
    tree = _tree(objects)
    resource = counted_resource(None, capacities, is_divided=False)
    capacity = None if resource is None else capacities.get(resource)
    if tree is not None and resource is not None and capacity is not None:
        quotas, ids = read_tree(tree), _ids(tree)
        most = quotas.quotas[ROOT].maximum.get(GPU_RESOURCE)
        total = capacity // THOUSANDTHS if most is None else min(capacity // THOUSANDTHS, most)
        yield DivisionInputs("ack", resource, total, {}, tuple(_claims(quotas, ids, total, requested)))


def ack_snapshot_inputs(state: ClusterState, resources: Sequence[str]) -> Iterator[DivisionInputs]:
    """Yield the inputs of the quotas with the requests of a snapshot's pods, on its nodes.

    Args:
        state: The cluster; its time is unused.
        resources: Resources that the policy counts on the cluster.

    Raises:
        ValueError: If the tree or a number is invalid.
    """
    objects = state.objects
    tree = _tree(objects)
    if tree is not None:
        gpus = snapshot_gpus(objects, resources, (), read_tree(tree).quota_of)
        yield from ack_inputs(objects, gpus.capacities, gpus.requested)


def _tree(objects: Sequence[Manifest]) -> Manifest | None:
    return next(of_group(objects, ElasticQuotaTree.group, "ElasticQuotaTree"), None)


def _ids(made: Manifest) -> Mapping[str, str]:
    """Return the policy's id of each node, by its path."""
    root = read(ElasticQuotaTree, made).root
    nodes = () if root is None else root.walk()
    return {path: node.attributes.get(QUEUE_ID_ATTRIBUTE, node.name or path) for path, _, node in nodes}


def _claims(
    tree: Tree, ids: Mapping[str, str], total: int, requested: Mapping[str, int] | None
) -> Iterator[ClaimInputs]:
    for path, quota in tree.quotas.items():
        if path == ROOT:
            continue
        least = quota.minimum.get(GPU_RESOURCE, 0)
        everything = 0 if tree.children[path] else total
        yield ClaimInputs(
            path,
            ids[path],
            None if quota.parent == ROOT else quota.parent,
            {
                "min": least,
                "max": quota.maximum.get(GPU_RESOURCE),
                "lent": least - quota.kept.get(GPU_RESOURCE, 0),
                "ownRequest": everything if requested is None else requested.get(path, 0),
            },
        )


def ack_divisions(inputs: DivisionInputs) -> Iterator[Division]:
    """Yield the usable amounts of the quotas of each level."""
    found: dict[str, Reservation] = {}
    children = inputs.children()
    for claim in reversed(inputs.claims):
        below = [found[child.name] for child in children.get(claim.name, ())]
        least, lent, own = (int(claim.numbers[key] or 0) for key in ("min", "lent", "ownRequest"))
        most = claim.numbers["max"]
        asked = own + sum(each.request for each in below)
        request = asked if most is None else min(asked, int(most))
        # Only the `min` of a pod's own quota determines whether it reclaims.
        assured = min(least, request) if not below else min(sum(each.assured for each in below), request)
        held = sum(max(each.assured, each.kept) for each in below)
        found[claim.name] = Reservation(
            request, assured, None if most is None else int(most), max(least - lent, held if below else 0)
        )
    yield from reserved_divisions(inputs, found)


SHARES = ShareEngine(
    ack_inputs,
    ack_snapshot_inputs,
    ack_divisions,
    f"ACK reserves `min` and does not divide the remaining capacity: {CAN_USE}",
)

"""Usable GPUs of YuniKorn's queues.

YuniKorn does not divide: a pending pod preempts while its queue is within its guarantee, and starts within the `max` of
the queue and its ancestors. Preemption by fair share requires `preemption.policy: fairshare`, which is never emitted.

Source: apache/yunikorn-core pkg/scheduler/objects (preemption.go, GetRemainingGuaranteedResource; queue.go) at
be3bb487.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.yunikorn.configuration import Queue
from apportion_api.yunikorn.names import CONFIG_MAP, SCHEDULER
from apportion_api.yunikorn.quantities import MAX_QUANTITY
from apportion_compiler.engines.yunikorn.emit.queues import ID_PROPERTY
from apportion_compiler.engines.yunikorn.rules.amounts import parse_amounts
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.queues import root_of
from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.fates.unmanaged import scheduler_of
from apportion_review.fates.yunikorn import configured_partition, namespace_annotations, queue_path
from apportion_review.shares.counted_resources import counted_resource
from apportion_review.shares.division_records import THOUSANDTHS, ClaimInputs, Division, DivisionInputs
from apportion_review.shares.guaranteed_shares import Reservation, reserved_divisions
from apportion_review.shares.share_engine import CAN_USE, ShareEngine
from apportion_review.shares.snapshot_gpus import snapshot_gpus


def yunikorn_inputs(
    objects: Sequence[Manifest],
    capacities: Mapping[str, int | None],
    requested: Mapping[str, int] | None = None,
) -> Iterator[DivisionInputs]:
    """Yield the inputs of the queues.

    Args:
        objects: Compiled objects of a cluster.
        capacities: Capacity of each resource, in thousandths of a GPU; resources without one are skipped.
        requested: GPUs that the pods of each queue request, by path; None if every leaf requests all resources.

    Raises:
        ValueError: If the configuration is invalid.
    """
    resource = counted_resource(None, capacities, is_divided=False)
    capacity = None if resource is None else capacities.get(resource)
    if resource is not None and capacity is not None:
        total = capacity // THOUSANDTHS
        try:
            root = root_of(configured_partition(objects))
            claims = tuple(_claims(root, root.name.lower(), None, total, requested))
        except ConfigRefusedError as refused:
            raise ValueError(f"ConfigMap {CONFIG_MAP}: {refused.path}: {refused}") from None
        yield DivisionInputs("yunikorn", resource, total, {}, claims)


def yunikorn_snapshot_inputs(state: ClusterState, resources: Sequence[str]) -> Iterator[DivisionInputs]:
    """Yield the inputs of the queues with the requests of a snapshot's pods, on its nodes.

    Args:
        state: The cluster; its time is unused.
        resources: Resources that the policy counts on the cluster.

    Raises:
        ValueError: If the configuration or a number is invalid.
    """
    objects = state.objects
    namespaces = namespace_annotations(objects)
    known = {claim.name for inputs in yunikorn_inputs(objects, dict.fromkeys(resources, 0)) for claim in inputs.claims}

    def known_queue(pod: Manifest) -> str | None:
        path = queue_path(pod, namespaces)
        return path if path in known and scheduler_of(pod) == SCHEDULER else None

    gpus = snapshot_gpus(objects, resources, (), known_queue)
    yield from yunikorn_inputs(objects, gpus.capacities, gpus.requested)


def _claims(
    above: Queue, path: str, parent: str | None, total: int, requested: Mapping[str, int] | None
) -> Iterator[ClaimInputs]:
    for queue in above.queues or ():
        name = f"{path}.{queue.name.lower()}"
        everything = 0 if queue.queues else total
        guaranteed = parse_amounts(queue.guaranteed, f"{queue.path}.resources.guaranteed").get(GPU_RESOURCE)
        yield ClaimInputs(
            name,
            (queue.properties or {}).get(ID_PROPERTY, queue.name),
            parent,
            {
                "guaranteed": guaranteed,
                "max": parse_amounts(queue.max, f"{queue.path}.resources.max").get(GPU_RESOURCE),
                "ownRequest": everything if requested is None else requested.get(name, 0),
            },
        )
        yield from _claims(queue, name, name, total, requested)


def yunikorn_divisions(inputs: DivisionInputs) -> Iterator[Division]:
    """Yield the usable amounts of the queues of each level."""
    found: dict[str, Reservation] = {}
    children = inputs.children()
    for claim in reversed(inputs.claims):
        below = [found[child.name] for child in children.get(claim.name, ())]
        guaranteed, most = (claim.numbers[key] for key in ("guaranteed", "max"))
        bound = None if most is None or most >= MAX_QUANTITY else int(most)
        asked = int(claim.numbers["ownRequest"] or 0) + sum(each.request for each in below)
        request = asked if bound is None else min(asked, bound)
        # A queue without a GPU guarantee is covered by that of its parent, and its children by their own.
        assured = sum(each.assured for each in below) if guaranteed is None else int(guaranteed)
        found[claim.name] = Reservation(request, min(assured, request), bound, 0)
    yield from reserved_divisions(inputs, found)


SHARES = ShareEngine(
    yunikorn_inputs,
    yunikorn_snapshot_inputs,
    yunikorn_divisions,
    f"YuniKorn reserves guaranteed resources and does not divide the remaining capacity: {CAN_USE}",
)

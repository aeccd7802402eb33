"""Usable GPUs of Volcano's queues, according to the plugin capacity.

The plugin does not divide: a queue reclaims up to its deserved amount, and allocates up to its real capability.

Source: volcano-sh/volcano pkg/scheduler/plugins/capacity/capacity.go at ed72c7c81 (checkHierarchicalQueue, the
ReclaimableFn), in `apportion_runtime.engines.volcano.capacity`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.objects import read_all
from apportion_api.volcano.names import GROUP_ANNOTATION, SCHEDULER
from apportion_api.volcano.objects import PodGroup, Queue
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.plain_objects import Manifest, annotations_of
from apportion_compiler.pool_label_keys import GPU_MODEL_LABEL
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.fates.unmanaged import scheduler_of
from apportion_review.fates.volcano import queue_of_pod
from apportion_review.fates.workloads import of_group
from apportion_review.shares.counted_resources import counted_resource
from apportion_review.shares.division_records import (
    THOUSANDTHS,
    ClaimInputs,
    Division,
    DivisionInputs,
    parents_before_children,
)
from apportion_review.shares.guaranteed_shares import Reservation, reserved_divisions
from apportion_review.shares.share_engine import CAN_USE, ShareEngine
from apportion_review.shares.snapshot_gpus import snapshot_gpus
from apportion_runtime.engines.volcano.amounts import UNBOUNDED
from apportion_runtime.engines.volcano.capacity import DEFAULT, ROOT, Capacity, QueueSpec, queue_spec
from apportion_runtime.engines.volcano.configuration import written_configuration

_OWN = (ROOT, DEFAULT)
# Guarantees are subtracted from a number that represents unlimited.
_UNBOUNDED = UNBOUNDED // 2


def volcano_inputs(
    objects: Sequence[Manifest],
    capacities: Mapping[str, int | None],
    requested: Mapping[str, int] | None = None,
) -> Iterator[DivisionInputs]:
    """Yield the inputs of each tree of queues.

    Args:
        objects: Compiled objects of a cluster.
        capacities: Capacity of each resource, in thousandths of a GPU; resources without one are skipped.
        requested: GPUs that the pods of each queue request, by name; None if every leaf requests all resources.

    Raises:
        ValueError: If a number is invalid.
    """
    queues = _queues(objects)
    made = written_configuration(list(of_group(objects, "", "ConfigMap")))
    settings = {"ancestorReclaimLevel": 0 if made is None else made.ancestor_level}
    for model in dict.fromkeys(queue.labels.get(GPU_MODEL_LABEL) for queue in queues):
        members = [queue for queue in queues if queue.labels.get(GPU_MODEL_LABEL) == model]
        resource = counted_resource(model, capacities, is_divided=len(members) < len(queues))
        capacity = None if resource is None else capacities.get(resource)
        if resource is not None and capacity is not None:
            total = capacity // THOUSANDTHS
            claims = parents_before_children(_claims(members, total, requested))
            yield DivisionInputs("volcano", resource, total, settings, claims)


def volcano_snapshot_inputs(state: ClusterState, resources: Sequence[str]) -> Iterator[DivisionInputs]:
    """Yield the inputs of each tree of queues with the requests of a snapshot's pods, on its nodes.

    Args:
        state: The cluster; its time is unused.
        resources: Resources that the policy counts on the cluster.

    Raises:
        ValueError: If a number is invalid.
    """
    objects = state.objects
    queues = _queues(objects)
    names = {queue.name for queue in queues}
    groups = {f"{each.namespace}/{each.name}": each for each in read_all(PodGroup, objects)}
    models = {queue.labels[GPU_MODEL_LABEL] for queue in queues if GPU_MODEL_LABEL in queue.labels}

    def known_queue(pod: Manifest) -> str | None:
        is_counted = scheduler_of(pod) == SCHEDULER or GROUP_ANNOTATION in annotations_of(pod)
        name = queue_of_pod(pod, groups)
        return name if is_counted and name in names else None

    gpus = snapshot_gpus(objects, resources, models, known_queue)
    yield from volcano_inputs(objects, gpus.capacities, gpus.requested)


def _queues(objects: Sequence[Manifest]) -> list[Queue]:
    return [queue for queue in read_all(Queue, objects) if queue.name not in _OWN]


def _claims(members: Sequence[Queue], total: int, requested: Mapping[str, int] | None) -> Iterator[ClaimInputs]:
    names = {queue.name for queue in members}
    inner = {queue.parent for queue in members}
    for queue in members:
        spec = queue_spec(queue)
        everything = 0 if queue.name in inner else total
        yield ClaimInputs(
            queue.name,
            queue.labels.get(QUEUE_ID_LABEL, queue.name),
            spec.parent if spec.parent in names else None,
            {
                "deserved": spec.deserved.get(GPU_RESOURCE, 0),
                "guarantee": spec.guarantee.get(GPU_RESOURCE, 0),
                "capability": spec.capability.get(GPU_RESOURCE),
                "ownRequest": everything if requested is None else requested.get(queue.name, 0),
            },
        )


def volcano_divisions(inputs: DivisionInputs) -> Iterator[Division]:
    """Yield the usable amounts of the queues of each level, as computed by the simulated engine."""
    capacity = Capacity(map(_spec, inputs.claims), {GPU_RESOURCE: int(inputs.total)}, hierarchy=True)
    found: dict[str, Reservation] = {}
    children = inputs.children()
    for claim in reversed(inputs.claims):
        queue = capacity.queues[claim.name]
        real = queue.real.get(GPU_RESOURCE, 0)
        below = [found[child.name] for child in children.get(claim.name, ())]
        request = min(int(claim.numbers["ownRequest"] or 0) + sum(each.request for each in below), real)
        is_asked = not below or bool(inputs.settings["ancestorReclaimLevel"])
        deserved = queue.deserved.get(GPU_RESOURCE, 0) if is_asked else sum(each.assured for each in below)
        found[claim.name] = Reservation(request, min(deserved, request), None if real > _UNBOUNDED else real, 0)
    yield from reserved_divisions(inputs, found)


def _spec(claim: ClaimInputs) -> QueueSpec:
    amounts = {
        key: {} if value is None else {GPU_RESOURCE: int(value)}
        for key, value in claim.numbers.items()
        if key != "ownRequest"
    }
    return QueueSpec(
        claim.name,
        ROOT if claim.parent is None else claim.parent,
        capability=amounts["capability"],
        deserved=amounts["deserved"],
        guarantee=amounts["guarantee"],
    )


SHARES = ShareEngine(
    volcano_inputs,
    volcano_snapshot_inputs,
    volcano_divisions,
    f"Volcano's capacity plugin reserves `deserved` and does not divide the remaining capacity: {CAN_USE}",
)

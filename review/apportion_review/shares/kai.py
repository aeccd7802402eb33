"""The fair shares of KAI Scheduler's queues, as its proportion plugin divides GPUs.

Source: KAI v0.17.0, pkg/scheduler/plugins/proportion/resource_division, in `apportion_runtime.core.division`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.fields import Manifest
from apportion_api.kai.objects import Queue, SchedulingShard
from apportion_api.objects import read_all
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_policy.resources import GPU
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.shares.counted_resources import counted_resource
from apportion_review.shares.division_records import (
    THOUSANDTHS,
    Claim,
    ClaimInputs,
    Division,
    DivisionInputs,
    Number,
    Round,
    Step,
)
from apportion_review.shares.share_engine import AGES, PODS, ShareEngine
from apportion_runtime.core import division as core
from apportion_runtime.core import snapshot as core_snapshot
from apportion_runtime.core.shares import Shares

_GPU = 2
# Index of GPUs among the core's resources.
_PHASES = {"deserved": "guaranteed"}


def kai_inputs(objects: Sequence[Manifest], capacities: Mapping[str, int | None]) -> Iterator[DivisionInputs]:
    """Yield the inputs of the division in each shard if every leaf queue requests all resources.

    Args:
        objects: Compiled objects of a cluster.
        capacities: Capacity of the cluster in thousandths, by resource; resources without one are skipped.
    """
    made = read_all(Queue, objects)
    k_value = _k_value(objects)
    for partition in dict.fromkeys(queue.partition for queue in made):
        queues = [queue for queue in made if queue.partition == partition]
        resource = counted_resource(partition or None, capacities, is_divided=len(queues) < len(made))
        capacity = None if resource is None else capacities.get(resource)
        if resource is not None and capacity is not None:
            yield _everyone(resource, capacity / THOUSANDTHS, k_value, queues)


def _everyone(resource: str, total: float, k_value: float, queues: Sequence[Queue]) -> DivisionInputs:
    inner = {queue.parent for queue in queues}
    requests: dict[str, float] = {queue.name: 0.0 if queue.name in inner else total for queue in queues}
    for queue in reversed(queues):
        # KAI does not cap the request of a queue at the limits of its descendants.
        # KAI leaves out a queue whose parent it does not know.
        if queue.parent in requests:
            requests[queue.parent] += requests[queue.name]
    claims = [
        ClaimInputs(
            queue.name,
            queue.labels.get(QUEUE_ID_LABEL, queue.name),
            queue.parent,
            {**_declared(queue), "request": requests[queue.name], "created": 0.0, "usage": 0.0},
        )
        for queue in queues
    ]
    return DivisionInputs("kai", resource, total, {"kValue": k_value}, tuple(claims))


def _declared(queue: Queue) -> dict[str, Number]:
    gpu = queue.resource(GPU)
    return {
        "deserved": float(gpu.quota or 0),
        "limit": float(gpu.limit or 0),
        "weight": float(gpu.weight or 0),
        "priority": core_snapshot.Queue("", None).priority if queue.priority is None else queue.priority,
    }


def _k_value(objects: Sequence[Manifest]) -> float:
    values = [shard.k_value for shard in read_all(SchedulingShard, objects)]
    return next((value for value in values if value is not None), core_snapshot.Settings().k_value)


def kai_snapshot_inputs(state: ClusterState, resources: Sequence[str]) -> Iterator[DivisionInputs]:
    """Yield what is divided in each shard with the requests of a snapshot's pods, on its nodes.

    Args:
        state: The cluster.
        resources: Those that the policy counts on the cluster.

    Raises:
        ValueError: If an object cannot be read.
    """
    cluster = state.kai
    for shard in cluster.shards:
        resource = counted_resource(shard.model, resources, is_divided=len(cluster.shards) > 1)
        if resource is not None:
            yield _of_session(shard.opened.shares, shard.settings.k_value, resource, cluster.queue_ids)


def _of_session(shares: Shares, k_value: float, resource: str, queue_ids: Mapping[str, str]) -> DivisionInputs:
    claims: list[ClaimInputs] = []
    pending = list(reversed(shares.roots))
    while pending:
        queue = pending.pop()
        numbers: dict[str, Number] = {
            "deserved": queue.deserved[_GPU],
            "limit": queue.limit[_GPU],
            "weight": queue.weight[_GPU],
            "priority": queue.priority,
            "request": float(queue.request[_GPU]),
            "created": queue.created,
            "usage": queue.usage[_GPU],
        }
        claims.append(ClaimInputs(queue.name, queue_ids.get(queue.name, queue.name), queue.parent or None, numbers))
        pending += reversed(shares.children_of(queue))
    return DivisionInputs("kai", resource, float(shares.total[_GPU]), {"kValue": k_value}, tuple(claims))


def kai_divisions(inputs: DivisionInputs) -> Iterator[Division]:
    """Yield the division of each level, parents first, by the scheduler core."""
    children = inputs.children()
    pending: list[tuple[str | None, float]] = [(None, float(inputs.total))]
    while pending:
        parent, total = pending.pop()
        known = {claim.name: claim for claim in children.get(parent, ())}
        if not known:
            continue
        claims = sorted((_demand_of(claim) for claim in known.values()), key=lambda claim: claim.name)
        record = core.Record()
        left = core.divide(total, claims, float(inputs.settings["kValue"]), record)
        yield Division(
            parent,
            total,
            tuple(Claim(c.name, known[c.name].queue, known[c.name].numbers, c.share) for c in claims),
            tuple(Round(made.priority, made.number, made.left, made.weights) for made in record.rounds),
            tuple(Step(s.name, _PHASES.get(s.phase, s.phase), s.round, s.amount) for s in record.steps),
            left,
        )
        pending += [(claim.name, claim.share) for claim in reversed(claims)]


def _demand_of(claim: ClaimInputs) -> core.QueueDemand:
    def number(name: str) -> float:
        return float(claim.numbers[name] or 0)

    return core.QueueDemand(
        claim.name,
        number("deserved"),
        number("limit"),
        number("weight"),
        number("request"),
        int(number("priority")),
        number("created"),
        number("usage"),
    )


SHARES = ShareEngine(kai_inputs, kai_snapshot_inputs, kai_divisions, assumes=AGES, counts=PODS)

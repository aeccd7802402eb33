"""Reads the node pools of a scenario: the shape of their nodes, and the provider's capacity for queued requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.kubernetes.names import GPU_COUNT_LABEL, GPU_MEMORY_LABEL, GPU_RESOURCE
from apportion_runtime.sim.provisioning.queued_pools import GpuQuota, QueuedPool, ZoneCapacity
from apportion_runtime.sim.scenario.fields import Fields
from apportion_runtime.sim.scenario.format import NodeShape, Pool

_DEFAULT_GPU_MEMORY = 81_920
_GPU_COUNT_LABEL, _GPU_MEMORY_LABEL = GPU_COUNT_LABEL, GPU_MEMORY_LABEL


def pool_of(fields: Fields, policy_nodes: Mapping[str, NodeShape] | None) -> Pool:
    """Parse a pool; `policy_nodes` has the node shapes of the policy's pools, None without a policy."""
    of_policy = fields.text("policy_pool")
    name = fields.object_name("pool", of_policy)
    if not name:
        raise fields.fault("pool", "a pool must have a name")
    base: NodeShape | None = None
    if of_policy:
        if policy_nodes is None:
            raise fields.fault("policy_pool", "a rendered tree has no node pools: define the nodes in the scenario")
        base = policy_nodes.get(of_policy)
        if base is None:
            known = ", ".join(sorted(policy_nodes)) or "none"
            raise fields.fault("policy_pool", f"the cluster has no node pool {of_policy}; its node pools are {known}")
    count = fields.integer("count", 1)
    least = count if (declared := fields.optional_integer("min")) is None else declared
    most = count if (declared := fields.optional_integer("max")) is None else declared
    if not least <= count <= most:
        raise fields.fault("count", f"{count} is not between min {least} and max {most}")
    made = Pool(
        name,
        _shape(fields, base or NodeShape({}, {})),
        count,
        least,
        most,
        fields.seconds("scale_up", 180.0),
        fields.seconds("idle", 600.0),
        None if (queued := fields.maybe("queued")) is None else _queued(queued),
        of_policy,
    )
    if made.queued is not None and made.size:
        raise fields.fault("count", "must be 0 for a pool with queued provisioning")
    fields.done()
    return made


def _queued(fields: Fields) -> QueuedPool:
    known = QueuedPool()
    capacities: list[ZoneCapacity] = []
    for each in fields.each("capacity"):
        capacities.append(ZoneCapacity(each.text("zone", "zone"), each.integer("nodes"), each.seconds("at")))
        each.done()
    made = QueuedPool(
        capacities=tuple(capacities),
        region=fields.text("region", known.region),
        boot_s=fields.seconds("boot", known.boot_s),
        accept_s=fields.seconds("accept", known.accept_s),
        gpu_quotas=tuple(_gpu_quotas(fields)),
        open_requests=fields.integer("open_requests", known.open_requests),
        nodes_per_request=fields.integer("nodes_per_request", known.nodes_per_request),
        booking_s=fields.seconds("booking", known.booking_s),
        longest_s=fields.seconds("longest_run", known.longest_s),
        shortest_s=fields.seconds("shortest_run", known.shortest_s),
        patience_s=fields.seconds("patience", known.patience_s),
    )
    fields.done()
    return made


def _gpu_quotas(fields: Fields) -> Iterator[GpuQuota]:
    """Yield a quota that is a number, or a list of numbers with their start times."""
    if not isinstance(fields.raw("gpu_quota"), list):
        quota = fields.optional_integer("gpu_quota")
        if quota is not None:
            yield GpuQuota(quota)
        return
    for each in fields.each("gpu_quota"):
        yield GpuQuota(each.integer("gpus"), each.seconds("at"))
        each.done()


def _shape(fields: Fields, base: NodeShape) -> NodeShape:
    """Return the shape of nodes: written values take precedence over `base`, and `base` over the defaults."""
    held = base.allocatable
    gpus = fields.integer("gpus", base.gpus)
    allocatable = {
        "cpu": fields.quantity("cpu", held.get("cpu", "64")),
        "memory": fields.quantity("memory", held.get("memory", "512Gi")),
        "pods": str(fields.integer("pods", int(held.get("pods", "110")))),
    }
    labels = dict(base.labels)
    memory = fields.integer("gpu_memory", int(labels.get(_GPU_MEMORY_LABEL, _DEFAULT_GPU_MEMORY)))
    if fields.raw("disk") is not None:
        allocatable["ephemeral-storage"] = fields.quantity("disk", "")
    if (extended := fields.maybe("extended")) is not None:
        allocatable |= _extended(extended)
    if gpus:
        allocatable[GPU_RESOURCE] = str(gpus)
        labels |= {_GPU_COUNT_LABEL: str(gpus), _GPU_MEMORY_LABEL: str(memory)}
    labels |= fields.texts("labels")
    taints: list[Mapping[str, str]] = []
    for taint in fields.each("taints"):
        taints.append({key: taint.text(key) for key in ("key", "value", "effect")})
        taint.done()
    return NodeShape(labels, allocatable, (*base.taints, *(t for t in taints if t not in base.taints)))


def _extended(fields: Fields) -> dict[str, str]:
    for name in fields.data:
        if "/" not in str(name) or name == GPU_RESOURCE:
            raise fields.fault(str(name), "must be an extended resource name such as rdma/hca")
    return {name: str(fields.integer(name)) for name in fields.data}

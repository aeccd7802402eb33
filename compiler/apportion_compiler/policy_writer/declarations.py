"""Conversion of an import record to the declarations of a policy. Unsupported fields become notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_compiler.errors import UnwritableError
from apportion_compiler.ir import program as ir
from apportion_compiler.policy_writer.amounts import amount_notes, bounds, guaranteed_amounts, resources_of
from apportion_compiler.policy_writer.pools import declared_models, pools_of
from apportion_compiler.readers.record import ImportRecord, Note, PlanRecord, PriorityClassRecord, QueueRecord
from apportion_policy.cluster import Cluster, Environment
from apportion_policy.declaration import collecting_faults
from apportion_policy.duration import duration_text
from apportion_policy.engine import Engine
from apportion_policy.evaluation.sanitized_text import plain_text, unprintable
from apportion_policy.placement import Placement, PlacementStrategy, Topology
from apportion_policy.pool import NodePool
from apportion_policy.priority import DEFAULT_PRIORITY_CLASSES, PriorityClass
from apportion_policy.provisioning import ProvisioningPlan
from apportion_policy.quantity import weight_text
from apportion_policy.queue import Queue, UserLimit
from apportion_policy.resources import CPU, GPU, MEMORY, Resources, Weight

_EVEN = 1000
_MAX_PRIORITY = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PolicyIdentity:
    """Properties of a policy that objects do not contain: its owner, and where it applies."""

    organisation: str
    environment: str
    cluster: str
    engine: Engine
    engine_version: str
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class DeclaredPolicy:
    """The declarations of a policy, queues parents first, and notes on lost fields."""

    queues: tuple[Queue, ...]
    pools: tuple[NodePool, ...]
    plans: tuple[ProvisioningPlan, ...]
    priority_classes: tuple[PriorityClass, ...]
    environment: Environment
    notes: tuple[Note, ...]


def declare_record(record: ImportRecord, identity: PolicyIdentity) -> DeclaredPolicy:
    """Return the declarations.

    Raises:
        UnwritableError: If a policy cannot represent a value, or two queues have the same id.
    """
    ids = [queue.id for queue in record.queues]
    twice = next((id_ for id_ in ids if ids.count(id_) > 1), None) if len(set(ids)) < len(ids) else None
    if twice is not None:
        raise UnwritableError(f"duplicate queue id `{twice}`")
    with collecting_faults() as faults:
        declared = _declared(record, identity)
    if faults:
        raise UnwritableError(f"{faults[0].declaration} {'.'.join(map(str, faults[0].path))}: {faults[0].message}")
    return declared


def _declared(record: ImportRecord, identity: PolicyIdentity) -> DeclaredPolicy:
    notes = list(record.notes)
    pools = pools_of(record, notes)
    guaranteed = guaranteed_amounts(record.queues)
    models = () if pools else declared_models(record)
    owners: dict[str, str | None] = {}
    known = {pool.id for pool in pools}
    queues = []
    for queue in record.queues:
        notes += amount_notes(queue)
        notes += _unsupported(queue)
        notes += _reworded(queue.object, "title", queue.title)
        inherited = identity.owner if queue.parent is None else owners.get(queue.parent)
        owners[queue.id] = _owner(queue) or inherited
        fields = {
            **_fields(queue, models),
            "owner": None if _owner(queue) == inherited else _owner(queue),
            "guaranteed": guaranteed[queue.id],
            "pools": None if queue.pools is None else tuple(pool for pool in queue.pools if pool in known),
        }
        queues.append(Queue(id=queue.id, **{key: value for key, value in fields.items() if value is not None}))
    for cls in record.priority_classes:
        notes += _reworded(f"PriorityClass {cls.name}", "description", cls.description)
    return DeclaredPolicy(
        tuple(queues),
        pools,
        tuple(_plan(plan) for plan in record.plans),
        tuple(_class(cls) for cls in record.priority_classes),
        _environment(record, identity, pools),
        tuple(dict.fromkeys(notes)),
    )


def _fields(queue: QueueRecord, models: Sequence[str]) -> Mapping[str, Any]:
    """Return a queue's own fields; fields that are None are omitted."""
    priority = queue.priority if queue.priority is None or 0 <= queue.priority <= _MAX_PRIORITY else None
    return {
        "title": _one_line(queue.title),
        "parent": queue.parent,
        "namespaces": tuple(sorted(queue.namespaces)) or None,
        "default": True if queue.default else None,
        "users": tuple(_user(user) for user in queue.users) or None,
        "limit": bounds(queue.limit, models),
        "lending_limit": bounds(queue.lending_limit, models),
        "over_quota_weight": _weight(queue.weight),
        "priority": priority,
        "preempt_min_runtime": None if queue.preempt_min_runtime is None else duration_text(queue.preempt_min_runtime),
        "reclaim_min_runtime": None if queue.reclaim_min_runtime is None else duration_text(queue.reclaim_min_runtime),
        "gpu_sharing": True if queue.gpu_sharing else None,
        "priority_classes": queue.priority_classes,
        "labels": dict(queue.labels) or None,
        "external_namespaces": queue.external_namespaces or None,
        "limit_ranges": queue.limit_ranges or None,
        "kueue": queue.kueue,
        "ack": queue.ack,
    }


def _user(user: ir.UserLimit) -> UserLimit:
    return UserLimit(user=user.user, limit=resources_of(user.limit) or Resources(), max_jobs=user.max_jobs)


def _unsupported(queue: QueueRecord) -> Iterator[Note]:
    if queue.priority is not None and not 0 <= queue.priority <= _MAX_PRIORITY:
        yield Note(queue.object, f"priority {queue.priority} is dropped: it must be from 0 to {_MAX_PRIORITY}")
    if queue.owner is not None and _owner(queue) is None:
        yield Note(queue.object, "its owner is dropped: it is not a handle or group")


def _one_line(text: str | None) -> str | None:
    """Return a text as one line of printable characters."""
    return text if text is None or unprintable(text) is None else plain_text(" ".join(text.split()), len(text))


def _reworded(object_: str, field: str, text: str | None) -> Iterator[Note]:
    if _one_line(text) != text:
        yield Note(object_, f"its {field} is converted to one line, with control and format characters escaped")


def _owner(queue: QueueRecord) -> str | None:
    """Return the owner, if it is valid in a policy."""
    owner = queue.owner
    if (
        owner is None
        or not 1 <= len(owner) <= 253
        or owner.startswith("system:")
        or any(map(str.isspace, owner))
        or unprintable(owner)
    ):
        return None
    return owner


def _weight(weights: Mapping[str, int]) -> Any:
    each = {resource: weights.get(resource, _EVEN) for resource in (CPU, MEMORY, GPU)}
    if len(set(each.values())) == 1:
        return None if each[CPU] == _EVEN else weight_text(each[CPU])
    return Weight(**{resource: weight_text(weight) for resource, weight in each.items() if weight != _EVEN})


def _plan(plan: PlanRecord) -> ProvisioningPlan:
    times = {
        "max_run_duration": plan.max_run_duration,
        "retry_backoff_base": plan.retry_backoff_base,
        "retry_backoff_max": plan.retry_backoff_max,
    }
    fields: dict[str, Any] = {
        "provisioning_class": plan.provisioning_class,
        "retry_limit": plan.retry_limit,
        "parameters": dict(plan.parameters) or None,
        **{name: None if seconds is None else duration_text(seconds) for name, seconds in times.items()},
    }
    return ProvisioningPlan(id=plan.id, **{key: value for key, value in fields.items() if value is not None})


def _class(cls: PriorityClassRecord) -> PriorityClass:
    made = PriorityClass(
        name=cls.name,
        value=cls.value,
        preemptible=cls.preemptible,
        global_default=cls.global_default,
        description=_one_line(cls.description) or "",
        installed_by_engine=cls.installed_by_engine,
    )
    return next((default for default in DEFAULT_PRIORITY_CLASSES if default == made), made)


def _environment(record: ImportRecord, identity: PolicyIdentity, pools: Sequence[NodePool]) -> Environment:
    here = record.cluster
    gpu, cpu = (PlacementStrategy(p) if p is not None else None for p in (here.gpu_placement, here.cpu_placement))
    placement = {
        key: value for key, value in (("gpu", gpu), ("cpu", cpu)) if value not in (None, PlacementStrategy.BINPACK)
    }
    fields: dict[str, Any] = {
        "placement": Placement(**placement) if placement else None,
        "topologies": tuple(Topology(name=t.name, levels=t.levels) for t in record.topologies) or None,
        "pools": tuple(pool.id for pool in pools) or None,
        "managed_elsewhere": here.managed_elsewhere or None,
        "kai": here.kai,
        "kueue": here.kueue,
        "volcano": here.volcano,
        "ack": here.ack,
    }
    cluster = Cluster(
        name=identity.cluster,
        engine=identity.engine,
        engine_version=identity.engine_version,
        **{key: value for key, value in fields.items() if value is not None},
    )
    return Environment(name=identity.environment, clusters=(cluster,))

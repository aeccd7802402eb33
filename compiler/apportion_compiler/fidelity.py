"""The support of each feature that a program uses on a backend: exact, approximated or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from apportion_compiler.backends.capability import Backend, Feature, Lowered, Native, Unsupported
from apportion_compiler.checks.refusals import REFUSALS
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Severity
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.gpu_models import promised_of_any_model
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import Amount, Unlimited, add
from apportion_policy.source import SourceLocation


@dataclass(frozen=True, slots=True)
class FidelityLine:
    """A feature that the policy uses, on one target."""

    feature: Feature
    verdict: Literal["exact", "approximated", "refused"]
    how: str
    code: str | None
    provided: tuple[str, ...] = ()
    """Output files that must be applied in addition to the objects for the verdict to be correct."""

    @property
    def text(self) -> str:
        """The line without feature and verdict, as one clause."""
        clause = self.how if self.code is None else f"{self.code}: {self.how}"
        return "; provided that ".join((clause, " and ".join(self.provided))) if self.provided else clause


def fidelity(program: Program, backend: Backend) -> tuple[FidelityLine, ...]:
    """Return one line for each feature that the program uses, in the order of `Feature`.

    Empty for a backend that only accompanies the cluster's engine, which has to support the features.
    """
    if program.engine != backend.name:
        return ()
    used = (feature for feature in Feature if next(USED[feature](program), None) is not None)
    return tuple(_enforced(_concerning(line, program, backend), program) for line in feature_lines(backend, used))


def feature_lines(backend: Backend, features: Iterable[Feature]) -> tuple[FidelityLine, ...]:
    """Return one line for each of the given features."""
    return tuple(_line(feature, backend) for feature in features)


def fidelity_findings(program: Program, backend: Backend) -> Iterator[Diagnostic]:
    """Yield a finding, at the author's line, if the program uses a feature that the cluster's engine refuses."""
    if program.engine != backend.name:
        return
    for feature, capability in backend.capabilities.items():
        if isinstance(capability, Unsupported):
            for address, at in USED[feature](program):
                yield Diagnostic(
                    REFUSALS[capability.code],
                    address,
                    f"{TRAITS[backend.name].title} does not support {feature.value}: {capability.reason}",
                    at,
                    hint=capability.hint,
                    scope=f"{program.environment}/{program.cluster}",
                )
    for refusal in backend.refusals(program):
        yield Diagnostic(
            REFUSALS[refusal.code],
            refusal.address,
            f"{TRAITS[backend.name].title} does not support {refusal.message}",
            refusal.at,
            hint=refusal.hint,
            severity=Severity.WARNING if refusal.bound_is_a_setting else None,
            scope=f"{program.environment}/{program.cluster}",
        )


def _concerning(line: FidelityLine, program: Program, backend: Backend) -> FidelityLine:
    """Return the line without limitations that do not affect the program."""
    match backend.capabilities[line.feature]:
        case Lowered(by, _, concerns) if not concerns(program):
            return replace(line, verdict="exact", how=by)
        case _:
            return line


def _enforced(line: FidelityLine, program: Program) -> FidelityLine:
    """Return the line of a feature that is exact only if objects enforce it that this cluster does not have."""
    if line.verdict == "refused":
        return line
    lost = []
    # On every engine, admission policies bind the workloads of a namespace to its queue.
    if line.feature is Feature.NAMESPACES or "admission polic" in line.how:
        if "admission" in program.managed_elsewhere:
            lost.append("admission policies are managed elsewhere on this cluster")
        elif program.admission != "deny":
            lost.append(f"admission policies {_LETS_IN[program.admission]}")
    if "ResourceQuota" in line.how and "quotas" in program.managed_elsewhere:
        lost.append("ResourceQuotas are managed elsewhere on this cluster")
    if not lost:
        return line
    how = f"{line.how}; limitation: {'; '.join(lost)}" if line.verdict == "exact" else "; ".join((line.how, *lost))
    return replace(line, verdict="approximated", how=how)


def _line(feature: Feature, backend: Backend) -> FidelityLine:
    capability = backend.capabilities[feature]
    provided = tuple(f"{condition.file} {condition.applied}" for condition in backend.conditions_of(feature))
    match capability:
        case Native(field):
            return FidelityLine(feature, "exact", field, None, provided)
        case Lowered(by, ""):
            return FidelityLine(feature, "exact", by, None, provided)
        case Lowered(by, approximation):
            return FidelityLine(feature, "approximated", f"{by}; limitation: {approximation}", None, provided)
        case Unsupported(code, reason, _):
            return FidelityLine(feature, "refused", reason, code)


_LETS_IN = {"warn": "only warn about violations", "audit": "only record violations"}

Use = tuple[str, SourceLocation]


def _queues(used: Callable[[Queue], object]) -> Callable[[Program], Iterator[Use]]:
    def uses(program: Program) -> Iterator[Use]:
        return ((f"queue {queue.id}", queue.source) for queue in program.queues if used(queue))

    return uses


def _uneven(queue: Queue) -> bool:
    return len(set(queue.weight.values())) > 1


def _by_model(queue: Queue) -> bool:
    return any(resource.startswith("gpu/") for resource in (*queue.guaranteed, *queue.limit))


def _counted_by_model(program: Program) -> Iterator[Use]:
    """Yield queues that count GPUs by model, unless the cluster has a single model, which equals the total."""
    models = {pool.gpu_model for pool in program.pools if pool.gpu_model is not None}
    return iter(()) if len(models) == 1 else _queues(_by_model)(program)


def _is_extended(resource: str) -> bool:
    return resource not in ("cpu", "memory", "gpu") and not resource.startswith("gpu/")


def _extended(program: Program) -> Iterator[Use]:
    """Yield queues with a limit on another resource, or a guarantee of it other than the sum of their children's."""
    return (
        (f"queue {queue.id}", queue.source)
        for queue, guaranteed in _own_promises(program)
        if any(_is_extended(resource) for resource in (*guaranteed, *queue.limit))
    )


def _promised(program: Program) -> Iterator[Use]:
    return ((f"queue {queue.id}", queue.source) for queue, guaranteed in _own_promises(program) if guaranteed)


def _own_promises(program: Program) -> Iterator[tuple[Queue, tuple[str, ...]]]:
    """Yield each queue with the resources of its own guarantees, without those that only sum its children's."""
    by_id = {queue.id: queue for queue in program.queues}
    for queue in program.queues:
        filled: dict[str, Amount] = {}
        for child in queue.children:
            for resource, amount in by_id[child].guaranteed.items():
                filled[resource] = add(filled.get(resource, 0), amount)
        yield queue, tuple(r for r, amount in queue.guaranteed.items() if amount not in (0, filled.get(r, 0)))


def _weighted(queue: Queue) -> bool:
    return any(weight != 1000 for weight in queue.weight.values())


def _classes(program: Program) -> Iterator[Use]:
    return ((f"priority class {cls.name}", cls.source) for cls in program.priority_classes)


def _restricted(program: Program) -> Iterator[Use]:
    every = {cls.name for cls in program.priority_classes}
    return ((f"queue {q.id}", q.source) for q in program.queues if q.is_leaf and set(q.priority_classes) != every)


def _restricted_pools(program: Program) -> Iterator[Use]:
    every = {pool.id for pool in program.pools}
    return ((f"queue {q.id}", q.source) for q in program.queues if q.is_leaf and set(q.pools) != every)


def _placement(program: Program) -> Iterator[Use]:
    yield f"cluster {program.environment}/{program.cluster}", program.source


def _pool_placement(program: Program) -> Iterator[Use]:
    of_cluster = (program.gpu_placement, program.cpu_placement)
    return (
        (f"node pool {pool.id}", pool.source)
        for pool in program.pools
        if (pool.gpu_placement, pool.cpu_placement) != of_cluster
    )


def _over_namespaces(program: Program) -> Iterator[Use]:
    """Yield queues whose limit covers more than one namespace, and so is not equivalent to a limit on each."""
    below: dict[str, int] = {}
    for queue in reversed(program.queues):
        below[queue.id] = len(queue.namespaces) + sum(below[child] for child in queue.children)
    return (
        (f"queue {queue.id}", queue.source)
        for queue in program.queues
        if below[queue.id] > 1 and any(not isinstance(amount, Unlimited) for amount in queue.limit.values())
    )


def _mixed(program: Program) -> Iterator[Use]:
    return ((f"queue {queue.id}", queue.source) for queue in promised_of_any_model(program))


def _topologies(program: Program) -> Iterator[Use]:
    return ((f"topology {topology.name}", topology.source) for topology in program.topologies)


def _queued_pools(program: Program) -> Iterator[Use]:
    return ((f"node pool {pool.id}", pool.source) for pool in program.pools if pool.plan is not None)


USED: Mapping[Feature, Callable[[Program], Iterator[Use]]] = {
    Feature.QUEUE_TREE: _queues(lambda queue: queue.parent is not None),
    Feature.GUARANTEED: _promised,
    Feature.LIMIT: _queues(lambda queue: queue.limit),
    Feature.LIMIT_OVER_NAMESPACES: _over_namespaces,
    Feature.LENDING_LIMIT: _queues(lambda queue: queue.lending_limit),
    Feature.OVER_QUOTA_WEIGHT: _queues(_weighted),
    Feature.WEIGHT_PER_RESOURCE: _queues(_uneven),
    Feature.QUEUE_PRIORITY: _queues(lambda queue: queue.priority is not None),
    Feature.PREEMPT_MIN_RUNTIME: _queues(lambda queue: queue.preempt_min_runtime is not None),
    Feature.RECLAIM_MIN_RUNTIME: _queues(lambda queue: queue.reclaim_min_runtime is not None),
    Feature.GPU_MODEL_QUOTA: _counted_by_model,
    Feature.MIXED_GPU_COUNTING: _mixed,
    Feature.EXTENDED_RESOURCES: _extended,
    Feature.GPU_SHARING: _queues(lambda queue: queue.gpu_sharing),
    Feature.USER_LIMITS: _queues(lambda queue: queue.users),
    Feature.PRIORITY_CLASSES: _classes,
    Feature.PREEMPTIBILITY: _classes,
    Feature.ALLOWED_CLASSES: _restricted,
    Feature.ALLOWED_POOLS: _restricted_pools,
    Feature.NAMESPACES: _queues(lambda queue: queue.namespaces),
    Feature.DEFAULT_QUEUE: _queues(lambda queue: queue.default and queue.namespaces),
    Feature.PLACEMENT: _placement,
    Feature.POOL_PLACEMENT: _pool_placement,
    Feature.TOPOLOGY: _topologies,
    Feature.QUEUED_PROVISIONING: _queued_pools,
}
"""The uses of each feature in a program; a test requires an entry for every feature."""

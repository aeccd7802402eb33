"""ResourceQuota and LimitRange: hard limits of a namespace, enforced when pods are created.

Amounts are limited only if Kubernetes itself schedules. With a queueing engine, a team can submit more work than can
run at once, and a quota on amounts would reject that work instead of queueing it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.limit_ranges import DEFAULT_REQUESTS, LIMIT_RANGE, LIMIT_RANGE_FIELDS
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.ir.effective_limits import effective_limits
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name
from apportion_policy.limit_range import LimitRange
from apportion_policy.quantity import Amount, Unlimited, cpu_text, memory_text
from apportion_policy.resources import CPU, GPU, MEMORY, Resources

_SCOPED = ("requests.cpu", "requests.memory")
"""Resources that a quota with a priority class scope may count, which excludes extended resources."""
_MANY_PODS = "150k"
"""More pods than a cluster can have (Kubernetes' tested limit): the quota matches a class without limiting it."""


def quotas(program: Program, *, bound_amounts: bool) -> Iterator[Manifest]:
    """Yield the ResourceQuotas of every namespace."""
    limits = effective_limits(program)
    every_class = [object_name(cls.name) for cls in program.priority_classes]
    for queue in program.queues:
        if queue.namespaces:
            hard = _hard(limits[queue.id]) if bound_amounts else {}
            for namespace in queue.namespaces:
                yield from _quotas(program, queue, namespace, hard, every_class)


def limit_ranges(program: Program, *, counts_amounts: bool) -> Iterator[Manifest]:
    """Yield the LimitRanges that a queue declares; without any, a default one if its quota counts cpu or memory."""
    limits = effective_limits(program)
    for queue in program.queues:
        named = {each.name: _declared(each) for each in queue.limit_ranges}
        if not named and queue.namespaces and counts_amounts:
            hard = _hard(limits[queue.id])
            defaults = dict(DEFAULT_REQUESTS[counted] for counted in _SCOPED if counted in hard)
            named = {LIMIT_RANGE: {"defaultRequest": defaults}} if defaults else {}
        for namespace in queue.namespaces:
            for name, fields in named.items():
                yield {
                    "apiVersion": "v1",
                    "kind": "LimitRange",
                    "metadata": metadata(program, object_name(name), queue.source, namespace=namespace, queue=queue),
                    "spec": {"limits": [{"type": "Container", **fields}]},
                }


def _declared(limit_range: LimitRange) -> dict[str, object]:
    return {
        written: {key.removeprefix("requests."): value for key, value in _hard(declared.amounts()).items()}
        for written, field in LIMIT_RANGE_FIELDS.items()
        if isinstance(declared := getattr(limit_range, field), Resources)
    }


def _quotas(
    program: Program, queue: Queue, namespace: str, hard: Mapping[str, str], every_class: list[str]
) -> Iterator[Manifest]:
    if hard:
        yield _quota(program, queue, namespace, "apportion", {"hard": dict(hard)})
    allowed = [object_name(cls) for cls in queue.priority_classes]
    forbidden = [cls for cls in every_class if cls not in allowed]
    if not forbidden:
        return
    if allowed:
        # If the API server's configuration lists a class under limitedResources, its pods are admitted only with a
        # matching quota.
        scoped = {counted: hard[counted] for counted in _SCOPED if counted in hard}
        spec = {"hard": {"pods": _MANY_PODS, **scoped}, "scopeSelector": _classes(allowed)}
        yield _quota(program, queue, namespace, "apportion-allowed-classes", spec)
    spec = {"hard": {"pods": "0"}, "scopeSelector": _classes(forbidden)}
    yield _quota(program, queue, namespace, "apportion-forbidden-classes", spec)


def _quota(program: Program, queue: Queue, namespace: str, name: str, spec: object) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(program, name, queue.source, namespace=namespace, queue=queue),
        "spec": spec,
    }


def _classes(names: list[str]) -> dict[str, object]:
    return {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": names}]}


def _hard(limit: Mapping[str, Amount]) -> dict[str, str]:
    """Return `spec.hard`, with only `requests.` keys, the only form that counts extended resources."""
    hard: dict[str, str] = {}
    for resource, amount in sorted(limit.items()):
        if isinstance(amount, Unlimited) or resource.startswith(f"{GPU}/"):
            continue
        if resource == CPU:
            hard["requests.cpu"] = cpu_text(amount) if amount % 1000 else _stored(amount // 1000)
        elif resource == MEMORY:
            hard["requests.memory"] = memory_text(amount)
        elif resource == GPU:
            # Devices are whole here, and rounding up never rejects what the policy allows.
            hard[f"requests.{GPU_RESOURCE}"] = _stored(-(-amount // 1000))
        else:
            hard[f"requests.{resource}"] = _stored(amount)
    return hard


def _stored(count: int) -> str:
    """Return a decimal number as the API server stores it, `2k` for 2000, so that it does not appear as drift."""
    suffixes = iter(("k", "M", "G", "T", "P", "E"))
    suffix = ""
    while count and count % 1000 == 0 and (larger := next(suffixes, None)):
        count, suffix = count // 1000, larger
    return f"{count}{suffix}"

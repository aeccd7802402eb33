"""Requests of a workload that never fit the limits of its queue, even if nothing else runs: it stays pending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.quota_tree import cluster_sizes, stands_for_no_size
from apportion_compiler.bindings.requests import Requests, largest, pod_requests, total
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.ir.effective_limits import effective_limits
from apportion_compiler.ir.program import NodePool, PriorityClass, Program, Queue
from apportion_compiler.workload_shapes import Node, PodSet, pod_sets
from apportion_policy.quantity import Amount, Unlimited, is_over
from apportion_policy.resources import CPU, GPU, MEMORY, amount_text, gpu_resource

_RESOURCES = {"cpu": CPU, "memory": MEMORY, GPU_RESOURCE: GPU}


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a workload exceeds.

    Attributes:
        clause: The request and the limit: `requests 2 GPUs, and queue vision is limited to 1 GPU`.
        waits: Whether it never starts; False if some of its pods can run, but never all at once.
    """

    clause: str
    waits: bool


def beyond_bounds(
    program: Program,
    queue: Queue,
    cls: PriorityClass | None,
    model: str | None,
    workloads: Sequence[Node],
    *,
    together: bool,
) -> Iterator[Excess]:
    """Yield each limit that the sum of workloads exceeds; `together` if their pods are gang-scheduled.

    Limits are the queue's limit and, for non-preemptible workloads on engines that confine them to it, the guarantee.
    """
    sets = [pods for workload in workloads for pods in pod_sets(workload) if pods.count]
    asked = total(sets)
    unit = asked if together else largest(pod_requests(pods.spec) for pods in sets)
    n_found = 0
    never = set(_beyond_amounts(program, queue, cls, model, unit))
    for clause in _beyond_amounts(program, queue, cls, model, asked):
        n_found += 1
        yield Excess(clause, waits=together or bool(never))
    pools = [pool for pool in program.pools if pool.id in queue.pools and _may_hold(pool, model)]
    for pods in sets:
        for _, clause in beyond_machine(queue, pools, pod_requests(pods.spec)):
            n_found += 1
            yield Excess(clause, waits=True)
    if n_found or not together:
        return
    parted = [*_beyond_pools(program, queue, asked)]
    for clause in parted or (clause for pods in sets for clause in _beyond_nodes(program, queue, pods)):
        yield Excess(clause, waits=True)


def _may_hold(pool: NodePool, model: str | None) -> bool:
    """Return whether pods that select a GPU model may run in a pool."""
    return model is None or pool.gpu_model == model


def _beyond_amounts(
    program: Program, queue: Queue, cls: PriorityClass | None, model: str | None, asked: Requests
) -> Iterator[str]:
    limit = effective_limits(program)[queue.id]
    bounds: list[tuple[str, Mapping[str, Amount]]] = [("is limited to", limit)]
    if TRAITS[program.engine].holds_to_guarantee and cls is not None and not cls.preemptible:
        bounds.append((f"limits {cls.name} workloads to its guarantee of", queue.guaranteed))
    for verb, bound in bounds:
        for name, amount in asked.items():
            for resource in _resource_keys(_RESOURCES.get(name, name), model):
                if resource in bound and resource not in program.unmanaged and is_over(amount, bound[resource]):
                    held = amount_text(resource, bound[resource])
                    yield f"requests {amount_text(resource, amount)}, but queue {queue.id} {verb} {held}"


def beyond_machine(queue: Queue, pools: Sequence[NodePool], asked: Requests) -> Iterator[tuple[str, str]]:
    """Yield each resource, by its Kubernetes name, of which a pod requests more than any machine of the pools has."""
    machines = [pool.machine for pool in pools]
    for name, amount in asked.items():
        resource = _RESOURCES.get(name, name)
        held = [machine[resource] for machine in machines if resource in machine]
        if held and all(is_over(amount, most) for most in held):
            most = max((amount for amount in held if not isinstance(amount, Unlimited)), default=0)
            yield (
                name,
                (
                    f"requests {amount_text(resource, amount)} in one pod, but no machine that queue {queue.id} may "
                    f"use has more than {amount_text(resource, most)}"
                ),
            )


def _beyond_pools(program: Program, queue: Queue, asked: Requests) -> Iterator[str]:
    pools = [pool for pool in program.pools if pool.id in queue.pools]
    named = {_RESOURCES.get(name, name): amount for name, amount in asked.items()}
    sizes = cluster_sizes(program, tuple(named), pools)
    for resource, amount in named.items():
        if not stands_for_no_size(resource, sizes[resource]) and amount > sizes[resource]:
            yield (
                f"requests {amount_text(resource, amount)}, but the nodes that queue {queue.id} may use have "
                f"only {amount_text(resource, sizes[resource])} in total"
            )


def _beyond_nodes(program: Program, queue: Queue, pods: PodSet) -> Iterator[str]:
    """Yield a clause if a gang has more pods than fit on the machines, given how many fit on each."""
    asked = pod_requests(pods.spec)
    n_places, per_machine = 0, 0
    for pool in program.pools:
        if pool.id not in queue.pools:
            continue
        held = [
            (pool.machine.get(_RESOURCES.get(name, name), 0 if name == GPU_RESOURCE else None), amount)
            for name, amount in asked.items()
            if amount
        ]
        known = [most // amount for most, amount in held if isinstance(most, int)]
        if len(known) < len(held) or not known:
            return
        n_places += min(known) * pool.max_nodes
        per_machine = max(per_machine, min(known))
    if 0 < n_places < pods.count:
        yield (
            f"starts {pods.count} pods together, but only {n_places} fit on the nodes that queue {queue.id} may use, "
            f"at most {per_machine} per node"
        )


def _resource_keys(resource: str, model: str | None) -> tuple[str, ...]:
    return (resource, gpu_resource(model)) if resource == GPU and model is not None else (resource,)

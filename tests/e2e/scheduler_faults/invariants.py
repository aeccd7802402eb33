"""What must hold after every fault, on the state that the API server holds. Each returns the violations as sentences.

`ALWAYS` holds at any moment, `AT_REST` once nothing is pending that could be bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from .cluster_state import ClusterState

Invariant = Callable[[ClusterState], list[str]]


def no_device_given_twice(state: ClusterState) -> list[str]:
    """The requests of the pods of a node fit its allocatable devices; a node that does not exist has none."""
    used: Counter[str] = Counter()
    for pod in state.bound():
        used[str(pod.node)] += pod.gpus
    return [
        f"the pods of {node} request {gpus} GPUs of {state.gpus.get(node, 0)}"
        for node, gpus in sorted(used.items())
        if gpus > state.gpus.get(node, 0)
    ]


def no_limit_exceeded(state: ClusterState) -> list[str]:
    """The bound pods of a queue and its children fit its limit."""
    used: Counter[str] = Counter()
    for pod in state.bound():
        queue: str | None = pod.queue
        while queue is not None:
            used[queue] += pod.gpus
            queue = state.parents.get(queue)
    return [
        f"queue {queue} holds {used[queue]} GPUs, and its limit is {limit:g}"
        for queue, limit in sorted(state.limits.items())
        if used[queue] > limit
    ]


def no_gang_half_bound(state: ClusterState) -> list[str]:
    """As many pods of a gang are bound as it requires, or none."""
    found = []
    for gang, minimum in sorted(state.minimums.items()):
        n_bound = sum(pod.node is not None for pod in state.pods_of(gang))
        if 0 < n_bound < minimum:
            found.append(f"{n_bound} of {minimum} pods of gang {gang} are bound")
    return found


def no_pod_lost(state: ClusterState) -> list[str]:
    """Every ReplicaSet has its pods, none of which is being deleted, and every pod has its pod group."""
    live = Counter(pod.owner for pod in state.pods if not pod.is_ending)
    found = [
        f"{owner} has {live[owner]} pods of {replicas}"
        for owner, replicas in sorted(state.replicas.items())
        if live[owner] != replicas
    ]
    found += [f"pod {pod.name} has no pod group" for pod in state.pods if pod.gang not in state.minimums]
    return found


ALWAYS: tuple[Invariant, ...] = (no_device_given_twice, no_limit_exceeded)
AT_REST: tuple[Invariant, ...] = (*ALWAYS, no_gang_half_bound, no_pod_lost)


def violations(state: ClusterState, invariants: tuple[Invariant, ...]) -> list[str]:
    """Return all violations."""
    return [violation for invariant in invariants for violation in invariant(state)]

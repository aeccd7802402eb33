"""Evictions by an engine's simulation for the pending work of a snapshot, with a limit on the effort."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.counted_nouns import counted
from apportion_compiler.plain_objects import Manifest, items, mapping, name_of, text
from apportion_review.fates.pod_evictions import Evictions
from apportion_review.fates.workloads import of_group, pending_pods
from apportion_runtime.engines.base.model import Model
from apportion_runtime.engines.kube_scheduler.profiles import DEFAULT, read_profiles
from apportion_runtime.sim.observed.evictions import observed_evictions
from apportion_runtime.sim.observed.missing_pods import n_missing_pods
from apportion_runtime.snapshots.quantities import parse_time

_MAX_CYCLES = 60
SIMULATED_NOTE = (
    "`evicted now` lists what the simulated engine evicts for the snapshot's pending work; evicted pods terminate within "
    "their grace period, and their controllers replace them."
)


def simulated_evictions(
    objects: Sequence[Manifest], model: Model, *, max_comparisons: int, scheduler: str | None = None
) -> Evictions:
    """Simulate an engine on the objects of a cluster, if work is pending.

    Args:
        objects: All objects of the cluster.
        model: The engine.
        max_comparisons: Limit of pending pods times nodes, above which nothing is simulated.
        scheduler: The `schedulerName` of the pods that evict others; None if they use kube-scheduler's profiles.
    """
    queued = model.queued(objects)
    n_pending = sum(1 for _ in _own_pending(objects, scheduler)) + len(queued) + n_missing_pods(objects, queued)
    if not n_pending:
        return Evictions({})
    unsupported = next(unsupported_features(objects, scheduler), "")
    if unsupported:
        return Evictions({}, unsupported)
    n_nodes = sum(1 for _ in of_group(objects, "", "Node"))
    if n_pending * n_nodes > max_comparisons:
        return Evictions({}, f"too large: {n_pending:,} pending pods and jobs, {counted(n_nodes, 'node')}")
    try:
        found = observed_evictions(objects, model, now=_time(objects), max_cycles=_MAX_CYCLES)
    except ValueError as wrong:
        return Evictions({}, str(wrong))
    return Evictions(found.found, is_complete=found.is_settled)


def unsupported_features(objects: Sequence[Manifest], scheduler: str | None = None) -> Iterator[str]:
    """Yield features of the pending pods that kube-scheduler supports and the simulation does not."""
    _, plugins = read_profiles(objects)
    if plugins:
        yield f"the scheduler's configuration uses the plugin {plugins[0]}"
    for pod in _own_pending(objects, scheduler):
        if items(pod, "spec", "resourceClaims"):
            yield f"Pod {name_of(pod)} has resource claims"
        if any(mapping(volume).get("persistentVolumeClaim") for volume in items(pod, "spec", "volumes")):
            yield f"Pod {name_of(pod)} has a persistent volume"


def other_schedulers_note(objects: Sequence[Manifest]) -> str:
    """Return which pending pods are not simulated because they use another scheduler; empty if there are none."""
    profiles, _ = read_profiles(objects)
    others = sorted({name for pod in pending_pods(objects) if (name := _scheduler(pod)) not in profiles})
    return f"Pending pods of other schedulers are not simulated: {', '.join(others)}." if others else ""


def _own_pending(objects: Sequence[Manifest], scheduler: str | None) -> Iterator[Manifest]:
    names = read_profiles(objects)[0].keys() if scheduler is None else {scheduler}
    return (pod for pod in pending_pods(objects) if _scheduler(pod) in names)


def _scheduler(pod: Manifest) -> str:
    return text(pod, "spec", "schedulerName") or DEFAULT


def _time(objects: Sequence[Manifest]) -> float:
    """Return the newest time of the pods."""
    written = (
        at
        for pod in of_group(objects, "", "Pod")
        for path in (("metadata", "creationTimestamp"), ("status", "startTime"), ("metadata", "deletionTimestamp"))
        if (at := text(pod, *path)) is not None
    )
    return max(map(parse_time, written), default=0.0)

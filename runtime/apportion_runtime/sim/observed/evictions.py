"""The evictions of an engine for the pending work of a snapshot, from a simulation until no event remains.

Evicted pods terminate within their grace period; their controllers replace them, and the replacements are pending.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_runtime.admission.objects import name_of, namespace_of, nested
from apportion_runtime.engines.base.model import Model
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.engine import reading
from apportion_runtime.sim.history import EvictionFact
from apportion_runtime.sim.observed.cluster import observed_cluster
from apportion_runtime.sim.observed.eviction_record import Eviction
from apportion_runtime.sim.observed.missing_pods import with_missing_pods
from apportion_runtime.sim.observed.workloads import ObservedWorkload, uid_or_name
from apportion_runtime.sim.scenario.format import Manifest, Scenario

_HORIZON_S = 3600.0
_POD = "Pod"


@dataclass(frozen=True, slots=True)
class ObservedEvictions:
    """The evictions of running pods by the pod's uid, the first of each pod.

    `is_settled` is false if the simulation was stopped before it settled: further evictions may follow.
    """

    found: Mapping[str, Eviction]
    is_settled: bool


def observed_evictions(objects: Sequence[Manifest], model: Model, *, now: float, max_cycles: int) -> ObservedEvictions:
    """Simulate a cluster from a snapshot. Pods that its controllers lack are created as far as quotas allow.

    Args:
        objects: All objects of the cluster.
        model: Its engine.
        now: Time of the snapshot, in seconds since the epoch.
        max_cycles: Scheduling cycles after which the simulation stops.

    Raises:
        UnreadableError: If the engine cannot start from the objects, or one of them cannot be read.
    """
    with reading("snapshot"):
        work = [_continued(each) for each in with_missing_pods(model.observe(objects), objects, model.queued(objects))]
    uids = {(namespace_of(pod), name_of(pod)): uid_or_name(pod) for each in work for pod in each.pods if _runs(pod)}
    with reading("snapshot"):
        cluster = observed_cluster(objects, work, Scenario(start=now), model, admit=lambda made: None)
    is_settled = _run(cluster, max_cycles)
    found: dict[str, Eviction] = {}
    for fact in cluster.history.taken:
        uid = uids.get((cluster.history.workloads[fact.workload].namespace, fact.pod))
        if uid is not None:
            found.setdefault(uid, _eviction(cluster, uid, fact))
    return ObservedEvictions(found, is_settled)


def _continued(observed: ObservedWorkload) -> ObservedWorkload:
    """Return a workload that does not end, and whose controller, if it has one, replaces its pods."""
    return replace(observed, ends=None, replaces_pods=observed.owner.kind != _POD)


def _runs(pod: Manifest) -> bool:
    return bool(nested(pod, "spec", "nodeName"))


def _run(cluster: Cluster, max_cycles: int) -> bool:
    """Run to the last event or the horizon; return False if the limit of cycles was reached first."""
    state = cluster.cluster_state
    end = state.now + _HORIZON_S
    while cluster.history.n_cycles < max_cycles:
        at = state.events.next_at()
        if at is None or at > end or not cluster.step():
            return True
    return False


def _eviction(cluster: Cluster, uid: str, fact: EvictionFact) -> Eviction:
    by = None if fact.for_workload < 0 else cluster.history.workloads[fact.for_workload]
    return Eviction(uid, fact.action, "" if by is None else f"{by.namespace}/{by.name}", fact.for_queue)

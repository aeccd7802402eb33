"""Binds that failed for now, such as those that conflict, until they succeed or are given up.

Meanwhile, cycles regard the pods as bound. Otherwise, the missing pods of a gang would compete with other jobs, and the
gang would stay bound in part if one of these took their resources.

Source: pkg/scheduler/cache/cluster_info/cluster_info.go: KAI regards a pod with a BindRequest as Binding until its binder
gives up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from apportion_runtime.core.session import Session
from apportion_runtime.core.status import BINDING, BOUND
from apportion_runtime.kube.cluster import Cluster, Key, Manifest, key_of
from apportion_runtime.kube.gang_binding import Placement, as_bound
from apportion_runtime.kube.resources import POD

RETRIED_S = 30.0
"""The time after which a failing bind is given up: the pod is pending again."""
_NODE = "Node"


@dataclass(frozen=True, slots=True)
class _Failed:
    """A pod whose bind failed, and when it is given up, on the clock."""

    placement: Placement
    until_s: float


class BindRetries:
    """The failed binds of a scheduler.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: dict[str, _Failed] = {}

    def add(self, placements: Iterable[Placement]) -> None:
        """Repeat binds in the next cycles; one that failed before is given up at the time of its first failure."""
        until_s = self._clock() + RETRIED_S
        for one in placements:
            self._failed.setdefault(one.task.uid, _Failed(one, until_s))

    def drop(self, job: str) -> None:
        """Give up the binds of a job."""
        self._failed = {uid: one for uid, one in self._failed.items() if one.placement.task.job != job}

    def reset(self) -> None:
        """Give up all binds: another scheduler leads."""
        self._failed.clear()

    def holds(self, pod: str) -> bool:
        """Return whether the bind of a pod, by uid, is repeated."""
        return pod in self._failed

    def bound_pods(self, cluster: Cluster) -> Mapping[Key, Manifest]:
        """Return the pods as a cycle reads them: as if they were bound."""
        now_s = self._clock()
        made: dict[Key, Manifest] = {}
        for uid, failed in list(self._failed.items()):
            key = key_of(failed.placement.pod)
            pod = cluster.get(POD, *key)
            if (
                failed.until_s <= now_s
                or pod is None
                or pod["metadata"]["uid"] != uid
                or "deletionTimestamp" in pod["metadata"]
                or cluster.get(_NODE, "", failed.placement.node) is None
            ):
                del self._failed[uid]
            # A bind without a response is assumed to have succeeded until the API server is asked for the pod.
            elif not pod["spec"].get("nodeName"):
                made[key] = as_bound(pod, failed.placement.node)
        return made

    def due(self, cluster: Cluster, session: Session) -> Mapping[str, list[Placement]]:
        """Return the placements to bind by job; a pod that the cycle has chosen as a victim is not bound."""
        made: dict[str, list[Placement]] = {}
        for uid, failed in list(self._failed.items()):
            job = session.jobs.get(failed.placement.task.job)
            task = None if job is None else job.tasks.get(uid)
            pod = cluster.get(POD, *key_of(failed.placement.pod))
            if task is None or task.status not in (BINDING, BOUND) or pod is None or pod["metadata"]["uid"] != uid:
                del self._failed[uid]
            elif not pod["spec"].get("nodeName"):
                made.setdefault(task.job, []).append(replace(failed.placement, task=task, pod=pod))
        return made

"""The fates of running pods under ACK's ElasticQuotaTree.

The simulated engine finds what is evicted for pending pods and for the jobs that kube-queue releases; a bound from the
tree and the priority classes, what may be evicted later.

Source: help.aliyun.com, "Enable preemptive scheduling" and "ElasticQuotaTree", as the simulated engine reads them.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_api.ack.objects import ElasticQuotaTree
from apportion_compiler.plain_objects import Manifest, integer
from apportion_review.fates.pod_fates import EngineModel, Use, beyond_limits, classes_of, pod_fates, started_of
from apportion_review.fates.records import EngineFates, Fate, Verdict
from apportion_review.fates.simulated_evictions import SIMULATED_NOTE, other_schedulers_note, simulated_evictions
from apportion_review.fates.workloads import OwnedPods, of_group, owned_pods, requests_of
from apportion_runtime.engines.ack.model import MODEL
from apportion_runtime.engines.ack.victims import add
from apportion_runtime.kube_queue.tree import Quota, Tree, read_tree
from apportion_runtime.snapshots.pod_requests import total

SOURCE = "ACK documentation (2026-11)"
_MAX_COMPARISONS = 20_000
"""A few seconds: victims are looked for on all nodes."""


def ack_fates(base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates:
    """Return the fates of the running pods of a cluster, by owner."""
    return pod_fates(_MODEL, base, head)


class _Side:
    """A cluster under one policy. Raises `ValueError` for objects that cannot be evaluated."""

    def __init__(self, objects: Sequence[Manifest]) -> None:
        trees = [*of_group(objects, ElasticQuotaTree.group, "ElasticQuotaTree")]
        if len(trees) != 1:
            raise ValueError(f"there are {len(trees)} ElasticQuotaTrees, but ACK requires exactly one")
        self._tree: Tree = read_tree(trees[0])
        self._shown = self._tree.shown()
        self._classes = classes_of(objects)
        self._used: dict[str, dict[str, int]] = {path: {} for path in self._tree.quotas}
        uses: list[Use] = []
        for owned in owned_pods(objects):
            quota = self._quota(owned)
            held = total(requests_of(pod) for pod in owned.pods)
            if quota is not None:
                add(self._tree, self._used, quota.path, held)
                uses += (
                    Use(owned.owner, each.path, held, owned.priority, started_of(owned))
                    for each in self._tree.upward(quota.path)
                )
        self._beyond = beyond_limits(uses, lambda path, resource: self._tree.quotas[path].maximum.get(resource))
        self._evictions = simulated_evictions(objects, MODEL, max_comparisons=_MAX_COMPARISONS)
        self._others = other_schedulers_note(objects)

    @property
    def why_incomplete(self) -> str:
        """Why pending work may evict more than is found; empty if the simulation settled."""
        return "" if self._evictions.is_complete else "the simulation was stopped before it reached a stable state"

    def _quota(self, owned: OwnedPods) -> Quota | None:
        path = self._tree.quota_of(owned.pods[0])
        return None if path is None else self._tree.quotas[path]

    def queue_of(self, owned: OwnedPods) -> str:
        """Return the name of the quota node of pods."""
        quota = self._quota(owned)
        return "" if quota is None else self._shown[quota.path]

    def is_preemptible(self, owned: OwnedPods) -> bool | None:
        """Return None: priorities and guarantees decide."""
        return None

    def is_managed(self, owned: OwnedPods) -> bool:
        """Tell that every pod is: the tree counts pods by label and namespace, and one that it does not count has an unknown fate."""
        return True

    def notes(self) -> tuple[str, ...]:
        """Return the assumptions."""
        return (*self._classes.notes(), *filter(None, (self._evictions.note("ACK"), self._others)))

    def verdict(self, owned: OwnedPods) -> Verdict:
        """Return the fate of pods."""
        quota = self._quota(owned)
        if quota is None:
            return Verdict(Fate.UNKNOWN, "does not count towards any node in the ElasticQuotaTree")
        evicted = self._evictions.verdict(owned)
        if evicted is not None:
            return evicted
        lowest = min(integer(pod, "spec", "priority") or 0 for pod in owned.pods)
        name = self._shown[quota.path]
        if self._classes.outranks(lowest):
            return Verdict(Fate.ON_DEMAND, f"pods in its own quota with a priority above {lowest} may preempt it", name)
        if not self._stays_within_min(quota):
            return Verdict(Fate.ON_DEMAND, f"{name} may exceed its min, and quotas within their min reclaim the excess")
        if owned.owner in self._beyond:
            path, resource, limit = self._beyond[owned.owner]
            return Verdict(
                Fate.STUCK, f"{self._shown[path]} is over its max of {limit} {resource}, and {name} is within its min"
            )
        return Verdict(Fate.SAFE, f"{name} never exceeds its min, and no priority class ranks above it")

    def _stays_within_min(self, quota: Quota) -> bool:
        """Return whether a quota uses at most its min of every resource, and its max keeps it there."""
        for resource in {*quota.minimum, *quota.maximum}:
            least = quota.minimum.get(resource, 0)
            most = quota.maximum.get(resource)
            if most is None or max(most, self._used[quota.path].get(resource, 0)) > least:
                return False
        return True


_MODEL = EngineModel(
    "ack",
    SOURCE,
    _Side,
    (SIMULATED_NOTE, "kube-queue's requeueing of dequeued jobs with pending pods is not modelled."),
    replaces_lost_pods=True,
    unverified="pod evictions modelled, not verified; job dequeuing compared with kube-queue and koord-queue",
)

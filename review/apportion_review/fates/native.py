"""The fates of running pods under kube-scheduler alone: evictions depend on priorities, not on quotas.

The simulated scheduler finds what is evicted for pending pods; a bound from the priority classes, what may be later.

Source: Kubernetes v1.36.3, pkg/scheduler/framework/plugins/defaultpreemption, pkg/quota.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from apportion_compiler.backends.metadata import GROUP
from apportion_compiler.plain_objects import Manifest, integer, items, labels_of, mapping, name_of, text
from apportion_review.fates.losses import losses
from apportion_review.fates.native_records import is_recorded
from apportion_review.fates.pod_fates import EngineModel, Use, beyond_limits, classes_of, pod_fates, started_of
from apportion_review.fates.records import EngineFates, Fate, Verdict
from apportion_review.fates.simulated_evictions import SIMULATED_NOTE, other_schedulers_note, simulated_evictions
from apportion_review.fates.workloads import OwnedPods, of_group, owned_pods, requests_of
from apportion_runtime.engines.native.model import MODEL
from apportion_runtime.snapshots.pod_requests import amount, total

SOURCE = "Kubernetes v1.36.3"
_QUEUE_LABEL = f"{GROUP}/queue"
_PLAIN = ("cpu", "memory")
_REQUESTS = "requests."
_MAX_COMPARISONS = 100_000
"""A few seconds."""


def native_fates(base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates:
    """Return the fates of the running pods of a cluster, by owner."""
    found = pod_fates(_MODEL, base, head)
    return replace(found, is_verified=is_recorded(base) and is_recorded(losses(base, head).applied(head)))


class _Side:
    """A cluster under one policy. Raises `ValueError` for objects that cannot be evaluated."""

    def __init__(self, objects: Sequence[Manifest]) -> None:
        self._classes = classes_of(objects)
        self._queues = {
            name_of(each): labels_of(each)[_QUEUE_LABEL]
            for each in of_group(objects, "", "Namespace")
            if _QUEUE_LABEL in labels_of(each)
        }
        quotas = list(of_group(objects, "", "ResourceQuota"))
        scoped = [each for each in quotas if items(each, "spec", "scopes") or mapping(each, "spec", "scopeSelector")]
        self._n_scoped = len(scoped)
        self._limits = _limits([each for each in quotas if each not in scoped])
        self._beyond = beyond_limits(
            [
                Use(
                    owned.owner, owned.owner.namespace, total(requests_of(pod) for pod in owned.pods), owned.priority,
                    started_of(owned),
                )
                for owned in owned_pods(objects)
            ],
            lambda namespace, resource: self._limits.get((namespace, resource)),
        )  # fmt: skip
        self._evictions = simulated_evictions(objects, MODEL, max_comparisons=_MAX_COMPARISONS)
        self._others = other_schedulers_note(objects)

    @property
    def why_incomplete(self) -> str:
        """Why pending pods may evict more than is found; empty if the simulation settled."""
        return "" if self._evictions.is_complete else "the simulation was stopped before it reached a stable state"

    def queue_of(self, owned: OwnedPods) -> str:
        """Return the queue of the namespace, or the namespace itself if it has none."""
        return self._queues.get(owned.owner.namespace, owned.owner.namespace)

    def is_preemptible(self, owned: OwnedPods) -> bool | None:
        """Return None: kube-scheduler compares only priorities."""
        return None

    def is_managed(self, owned: OwnedPods) -> bool:
        """Return True: quotas count pods of every scheduler, and kube-scheduler preempts them."""
        return True

    def notes(self) -> tuple[str, ...]:
        """Return the assumptions."""
        scoped = f"ResourceQuotas with scopes are ignored ({self._n_scoped} in the objects)."
        found = (scoped if self._n_scoped else "", self._evictions.note("kube-scheduler"), self._others)
        return (*self._classes.notes(), *filter(None, found))

    def verdict(self, owned: OwnedPods) -> Verdict:
        """Return the fate of pods."""
        evicted = self._evictions.verdict(owned, self._queues)
        if evicted is not None:
            return evicted
        lowest = min(integer(pod, "spec", "priority") or 0 for pod in owned.pods)
        if self._classes.outranks(lowest):
            return Verdict(Fate.ON_DEMAND, f"kube-scheduler may preempt it for pods with a priority above {lowest}")
        if owned.owner in self._beyond:
            namespace, resource, limit = self._beyond[owned.owner]
            return Verdict(
                Fate.STUCK,
                f"namespace {namespace} is over its quota of {limit} {resource}, but a ResourceQuota does not evict pods",
            )
        return Verdict(
            Fate.SAFE, "no preempting priority class ranks above it, and a ResourceQuota does not evict pods"
        )


def _limits(quotas: Sequence[Manifest]) -> Mapping[tuple[str, str], int]:
    """Return the smallest limit of each namespace and resource. Raises `ValueError` if an amount is invalid."""
    found: dict[tuple[str, str], int] = {}
    for quota in quotas:
        for key, written in mapping(quota, "spec", "hard").items():
            resource = key.removeprefix(_REQUESTS)
            if key in _PLAIN or key.startswith(_REQUESTS):
                at = (text(quota, "metadata", "namespace") or "", resource)
                limit = amount(resource, str(written))
                found[at] = min(limit, found.get(at, limit))
    return found


_MODEL = EngineModel("native", SOURCE, _Side, (SIMULATED_NOTE,), replaces_lost_pods=True)

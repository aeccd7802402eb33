"""The fates of running pods under Koordinator's elastic quotas: pods that its revoke controller evicts or may evict.

A quota above its runtime for `delayEvictTime` loses its least important preemptible pods, even without demand.
Source: koordinator-sh/koordinator pkg/scheduler/plugins/elasticquota (quota_overuse_revoke.go, preempt.go) at a7a1b76b.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.koordinator.names import (
    PREEMPTIBLE_LABEL,
    QUEUE_LABEL,
    SCHEDULER,
)
from apportion_api.koordinator.objects import ElasticQuota
from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.plain_objects import Manifest, integer, labels_of, mapping, name_of, text
from apportion_review.fates.pod_fates import EngineModel, classes_of, pod_fates
from apportion_review.fates.records import EngineFates, Fate, Verdict
from apportion_review.fates.unmanaged import scheduler_of
from apportion_review.fates.workloads import OwnedPods, of_group, pending_pods, requests_of, running_pods
from apportion_review.shares.koordinator import elastic_quotas, quota_of
from apportion_runtime.engines.koordinator.division import runtime_quotas
from apportion_runtime.snapshots.pod_requests import amount, amounts, total

SOURCE = "Koordinator v1.8.0-61"
_OF_DEFAULT_QUOTA = frozenset(("cpu", "memory"))
"""The resources of pods without a quota that the quotas do not divide (defaultDefaultQuotaGroupMax)."""


def koordinator_fates(base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates:
    """Return the fates of the running pods of a cluster, by owner."""
    return pod_fates(_MODEL, base, head)


class _Side:
    """A cluster under one policy. Raises `ValueError` for objects that cannot be evaluated."""

    why_incomplete = ""

    def __init__(self, objects: Sequence[Manifest]) -> None:
        quotas = elastic_quotas(objects)
        self._quotas = {quota.name: quota for quota in quotas}
        self._by_namespace = {ns: quota.name for quota in quotas for ns in quota.namespaces}
        self._classes = classes_of(objects)
        self._has_trees = any(quota.tree_id for quota in quotas)
        self._running = [pod for pod in running_pods(objects) if self._quota_of(pod) is not None]
        self._runtime = {} if self._has_trees else self._runtimes(objects)
        self._revoked = frozenset(self._revocations())

    def _quota_of(self, pod: Manifest) -> str | None:
        name = labels_of(pod).get(QUEUE_LABEL) or self._by_namespace.get(text(pod, "metadata", "namespace") or "")
        return name if name in self._quotas else None

    def _runtimes(self, objects: Sequence[Manifest]) -> Mapping[tuple[str, str], int]:
        """Return the runtime of each quota and resource, given the requests of the snapshot's pods."""
        capacity = total(amounts(mapping(node, "status", "allocatable")) for node in of_group(objects, "", "Node"))
        requested: dict[str, dict[str, int]] = {}
        for pod in (*running_pods(objects), *pending_pods(objects)):
            name = self._quota_of(pod)
            for resource, asked in requests_of(pod).items():
                if name is not None:
                    held = requested.setdefault(name, {})
                    held[resource] = held.get(resource, 0) + asked
                elif text(pod, "spec", "nodeName") and resource in _OF_DEFAULT_QUOTA:
                    capacity[resource] = capacity.get(resource, 0) - asked
        found: dict[tuple[str, str], int] = {}
        for resource in sorted({key for quota in self._quotas.values() for key in quota.maximum}):
            division = [
                quota_of(made, resource, requested.get(name, {}).get(resource, 0))
                for name, made in self._quotas.items()
            ]
            for name, quota in runtime_quotas(capacity.get(resource, 0), division).items():
                if resource in self._quotas[name].maximum:
                    found[name, resource] = quota.runtime
        return found

    def _revocations(self) -> Iterator[str]:
        """Yield the pods that are evicted from quotas above their runtime, by uid."""
        held: dict[str, list[Manifest]] = {}
        for pod in self._running:
            held.setdefault(str(self._quota_of(pod)), []).append(pod)
        for name, pods in held.items():
            limits = {resource: limit for (quota, resource), limit in self._runtime.items() if quota == name}
            used = total(requests_of(pod) for pod in pods)
            victims: list[Manifest] = []
            for pod in sorted(pods, key=_importance):
                if not _exceeds(used, limits):
                    break
                if not _is_fixed(pod):
                    victims.append(pod)
                    used = _less(used, requests_of(pod))
            for pod in reversed(victims):
                back = total((used, requests_of(pod)))
                if _exceeds(back, limits):
                    yield _uid(pod)
                else:
                    used = back

    def queue_of(self, owned: OwnedPods) -> str:
        """Return the quota of the pods."""
        name = self._quota_of(owned.pods[0])
        return "" if name is None else self._quotas[name].labels.get(QUEUE_ID_LABEL, name)

    def is_preemptible(self, owned: OwnedPods) -> bool | None:
        """Return whether any of the pods is preemptible."""
        return not all(_is_fixed(pod) for pod in owned.pods)

    def is_managed(self, owned: OwnedPods) -> bool:
        """Return whether a quota or koord-scheduler has any of the pods.

        The quotas count and revoke pods by label and namespace, whichever scheduler has placed them.
        """
        return any(scheduler_of(pod) == SCHEDULER or self._quota_of(pod) is not None for pod in owned.pods)

    def notes(self) -> Iterator[str]:
        """Yield the assumptions."""
        yield from self._classes.notes()
        if self._has_trees:
            yield (
                "With more than one quota tree, runtime quotas are not computed: workloads that the revoke controller "
                "would evict are reported as reclaimable on demand."
            )

    def verdict(self, owned: OwnedPods) -> Verdict:
        """Return the fate of pods."""
        name = self._quota_of(owned.pods[0])
        if name is None:
            return Verdict(Fate.UNKNOWN, "it does not belong to an ElasticQuota")
        revoked = sum(_uid(pod) in self._revoked for pod in owned.pods)
        if revoked:
            return Verdict(
                Fate.EVICTED,
                f"{name} exceeds its runtime quota: the revoke controller evicts {revoked} of {len(owned.pods)} pods",
            )
        if self.is_preemptible(owned):
            return Verdict(
                Fate.ON_DEMAND,
                f"preemptible: may be revoked if {name} exceeds its runtime quota, or preempted by other pods in it",
            )
        lowest = min(integer(pod, "spec", "priority") or 0 for pod in owned.pods)
        if self._classes.outranks(lowest):
            return Verdict(
                Fate.UNKNOWN,
                "not preemptible within its quota, but DefaultPreemption may evict it unless that plugin is disabled",
            )
        if _exceeds(self._fixed_use(name), _maximum(self._quotas[name])):
            return Verdict(Fate.STUCK, f"non-preemptible pods in {name} exceed its max, and no rule evicts them")
        return Verdict(Fate.SAFE, "not preemptible, and no priority class ranks above it")

    def _fixed_use(self, name: str) -> dict[str, int]:
        return total(requests_of(pod) for pod in self._running if self._quota_of(pod) == name and _is_fixed(pod))


def _maximum(made: ElasticQuota) -> dict[str, int]:
    return {key: amount(key, str(written)) for key, written in made.maximum.items()}


def _is_fixed(pod: Manifest) -> bool:
    return labels_of(pod).get(PREEMPTIBLE_LABEL) == "false"


def _importance(pod: Manifest) -> tuple[int, str, str]:
    """Return the sort key of a pod in the order of eviction: the lowest priority first, then the latest."""
    created = text(pod, "metadata", "creationTimestamp") or ""
    return integer(pod, "spec", "priority") or 0, "".join(chr(0x10FFFF - ord(c)) for c in created), _uid(pod)


def _uid(pod: Manifest) -> str:
    return text(pod, "metadata", "uid") or f"{text(pod, 'metadata', 'namespace')}/{name_of(pod)}"


def _exceeds(used: Mapping[str, int], limits: Mapping[str, int]) -> bool:
    return any(used.get(resource, 0) > limit for resource, limit in limits.items())


def _less(used: Mapping[str, int], gone: Mapping[str, int]) -> dict[str, int]:
    return {name: value - gone.get(name, 0) for name, value in used.items()}


_MODEL = EngineModel(
    "koordinator",
    SOURCE,
    _Side,
    (
        "The revoke controller is assumed to watch all quotas (monitorAllQuotas).",
        "Pods in the snapshot are assumed to have been running or pending for longer than delayEvictTime.",
        "Scaling of min (scaleMinQuota), gangs, and pod deletion costs are not modelled.",
    ),
)

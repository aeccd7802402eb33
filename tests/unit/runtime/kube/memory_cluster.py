"""A cluster in memory that does at once what it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apportion_runtime.admission.objects import Unreadable
from apportion_runtime.kube.backoffs import Backoffs
from apportion_runtime.kube.bind_retries import BindRetries
from apportion_runtime.kube.cluster import Change, Manifest
from apportion_runtime.kube.cluster_records import ClusterRecords
from apportion_runtime.kube.cycle_result import CycleResult
from apportion_runtime.kube.errors import NotLeader, Refused, Unreachable
from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.pending_reasons import PendingReasons
from apportion_runtime.kube.pod_grouping import GroupedPods
from apportion_runtime.kube.scheduler import Rejections, Scheduling
from apportion_runtime.kube.scheduler import run_cycle as run_cycle_of
from apportion_runtime.kube.status_updates import StatusUpdates
from apportion_runtime.kube.victim_evictions import ProtectedVictims
from apportion_runtime.kube.write_pool import WritePool

from .api_server import merged


class Memory:
    """A cluster that does at once what it is asked."""

    def __init__(self, *manifests: dict[str, Any]) -> None:
        self.held = {self._key(m): m for m in manifests}
        self.seen: dict[object, dict[tuple[str, str, str], dict[str, Any]]] = {}
        self.evicted: list[str] = []
        self.told: dict[str, str] = {}
        self.events: list[tuple[str, str, str]] = []
        self.unreadable: set[str] = set()
        self.undelivered: set[tuple[str, str, str]] = set()
        self.refuses: dict[str, Refused | Unreachable] = {}
        self.keeps: dict[str, Refused] = {}
        self.failures: list[str] = []
        self.clock_s = 0.0
        protected = ProtectedVictims(Backoffs(10, 300, lambda: self.clock_s))
        self.rejections = Rejections(Backoffs(10, 300, lambda: self.clock_s), protected)
        self.retries = BindRetries(lambda: self.clock_s)
        self.reservations: GangReservations | None = None
        self.refuses_creation: Refused | None = None
        self.refuses_deletion: Refused | None = None
        self.is_leader = True
        self.grouped = GroupedPods()
        self.reasons, self.statuses, self.records = PendingReasons(), StatusUpdates(), ClusterRecords()

    def objects(self, *kinds: str) -> Sequence[Manifest]:
        return [made for made in self.held.values() if made["kind"] in kinds or not kinds]

    def changes(self, consumer: object) -> Sequence[Change]:
        # Tests change the objects themselves.
        before = self.seen.get(consumer, {})
        after = self.seen[consumer] = dict(self.held)
        return [
            Change(kind, (namespace, name), before.get(key), after.get(key))
            for key in {**before, **after}
            for kind, namespace, name in [key]
            if before.get(key) is not after.get(key)
        ]

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        return self.held.get((kind, namespace, name))

    def read(self, api_version: str, kind: str, namespace: str, name: str) -> Manifest | None:
        if f"{api_version}/{kind}" in self.unreadable:
            raise Unreadable(kind)
        found = self.held.get((kind, namespace, name))
        return found if found is not None and found["apiVersion"] == api_version else None

    def is_stored(self, kind: str, namespace: str, name: str) -> bool:
        return (kind, namespace, name) in self.held or (kind, namespace, name) in self.undelivered

    def pods(self, namespace: str, labels: Mapping[str, str]) -> Sequence[Manifest]:
        pods = [made for (kind, place, _), made in self.held.items() if (kind, place) == ("Pod", namespace)]
        return [pod for pod in pods if labels.items() <= pod["metadata"].get("labels", {}).items()]

    def create(self, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
        made = dict(manifest)
        if manifest["kind"] == "Pod" and self.refuses_creation is not None:
            raise self.refuses_creation
        if dry_run:
            return made
        made["metadata"] = {"uid": f"uid-{manifest['metadata']['name']}", **manifest["metadata"]}
        self.held[self._key(made)] = made
        return made

    def merge(self, kind: str, namespace: str, name: str, patch: Manifest) -> Manifest:
        made = merged(self.held[kind, namespace, name], patch)
        self.held[kind, namespace, name] = made
        return made

    def put(self, config_map: Manifest) -> Manifest:
        key = self._key(config_map)
        self.held[key] = merged(self.held.get(key, {}), config_map)
        return self.held[key]

    def delete(self, pod: Manifest) -> None:
        if self.refuses_deletion is not None:
            raise self.refuses_deletion
        del self.held[self._key(pod)]

    def merge_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        self.merge(kind, namespace, name, {"status": status})

    def bind(self, pod: Manifest, node: str) -> None:
        name = pod["metadata"]["name"]
        if not self.is_leader:
            raise NotLeader("this scheduler does not hold the lease")
        if name in self.refuses:
            raise self.refuses[name]
        held = self.held["Pod", "team", name]
        self.held["Pod", "team", name] = {**held, "spec": {**pod["spec"], "nodeName": node}}

    def evict(self, pod: Manifest, *, dry_run: bool = False) -> None:
        name = pod["metadata"]["name"]
        if name in self.keeps:
            raise self.keeps[name]
        if not dry_run:
            self.evicted.append(name)
            del self.held["Pod", "team", name]

    def explain_eviction(self, pod: Manifest, why: str) -> None:
        self.told[pod["metadata"]["name"]] = why

    def wait(self, pod: Manifest, why: str) -> None:
        self.told[pod["metadata"]["name"]] = why

    def record(self, about: Manifest, reason: str, message: str, *, is_warning: bool = False) -> None:
        self.events.append((about["metadata"]["name"], reason, message))

    def node_of(self, name: str) -> str | None:
        node: str | None = self.held["Pod", "team", name]["spec"].get("nodeName")
        return node

    @staticmethod
    def _key(manifest: Manifest) -> tuple[str, str, str]:
        return manifest["kind"], manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"]


def events_without(cluster: Memory, *reasons: str) -> list[tuple[str, str, str]]:
    """Return the events with other reasons: name, reason and message."""
    return [event for event in cluster.events if event[1] not in reasons]


def run_cycle(cluster: Memory, now: float, *, shard: str | None = None) -> CycleResult:
    """Run a cycle, and return its result when everything is written."""
    pool = WritePool(4, cluster.failures.append)
    try:
        scheduling = Scheduling(
            cluster,
            pool,
            shard=shard,
            rejections=cluster.rejections,
            grouped=cluster.grouped,
            reasons=cluster.reasons,
            statuses=cluster.statuses,
            records=cluster.records,
            retries=cluster.retries,
            reservations=cluster.reservations,
        )
        return run_cycle_of(scheduling, now)
    finally:
        pool.stop()

"""Clusters of tests/conformance/kai_convergence on a real API server, each as a scheduling shard with names of its own."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from tests.conformance.kai_convergence_runs import NOW, RecordedCluster
from tests.unit.review.kai_shard_objects import POOL, objects_of

from apportion_api.kai.names import LAST_START_ANNOTATION, SHARD_API, STALE_SINCE_ANNOTATION
from apportion_api.kubernetes.names import PRIORITY_CLASS_API
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import POD, POD_GROUP, WATCHED
from apportion_runtime.snapshots.quantities import time_text

Object = dict[str, Any]
NAMESPACE = "recorded"
_GANG = "recorded-gang"
_TIMES = (LAST_START_ANNOTATION, STALE_SINCE_ANNOTATION)
COLLECTIONS = (
    f"{WATCHED[POD].path(NAMESPACE)}?gracePeriodSeconds=0",
    WATCHED[POD_GROUP].path(NAMESPACE),
    *(f"{WATCHED[kind].everywhere}?labelSelector={POOL}" for kind in ("Node", "Queue", "SchedulingShard")),
)
"""The paths of everything that is created, for requests that delete it at once."""
_SETTLED_S = 120
_MERGE = "application/merge-patch+json"

Placed = Counter[tuple[str, str]]
"""The number of pods of each gang on each node: the pods of a gang are alike."""


def shard_of(one: RecordedCluster) -> str:
    """Return the name of the shard that holds a cluster."""
    return f"recorded-{one.seed}"


def recorded_placements(one: RecordedCluster, cycle: int) -> Placed:
    """Return what ran after a cycle of the real scheduler."""
    return Counter((pod.rpartition("-")[0], node) for pod, node in one.running[cycle])


class RecordedShards:
    """The clusters on the API server. Their objects are created in the recorded order, some in each second.

    The API server sets the creation times, to the second, by which the scheduler orders queues and gangs.
    """

    def __init__(self, connection: Connection, clusters: Sequence[RecordedCluster]) -> None:
        self._connection = connection
        self._clusters = clusters
        self.now = 0.0
        """The time of the next cycle."""

    def create(self) -> None:
        """Create everything as it was when the record began."""
        self.now = now = float(int(time.time()))
        classes = {name: value for one in self._clusters for name, value in one.cluster["classes"].items()}
        for name, value in classes.items():
            made = {
                "apiVersion": PRIORITY_CLASS_API,
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
            self._post(made)
        batches = [self._batches(one, now) for one in self._clusters]
        for number in range(max(map(len, batches))):
            for batch in batches:
                for made in batch[number] if number < len(batch) else ():
                    self._create(made)
            time.sleep(1.01 - time.time() % 1)

    def placements(self) -> dict[str, Placed]:
        """Return by shard the number of pods of each gang on each node, without those that terminate."""
        found: dict[str, Placed] = {shard_of(one): Counter() for one in self._clusters}
        for pod in self._items(POD):
            if "nodeName" in pod["spec"] and not _is_terminating(pod):
                labels = pod["metadata"]["labels"]
                shard = labels[POOL]
                found[shard][labels[_GANG], pod["spec"]["nodeName"].removeprefix(f"{shard}-")] += 1
        return found

    def terminating(self) -> list[Object]:
        return [pod for pod in self._items(POD) if _is_terminating(pod)]

    def carry_out(self, left: Sequence[Object]) -> None:
        """Run the bound pods, as kubelets do, and create anew those that have left, as controllers do."""
        for pod in left:
            meta = pod["metadata"]
            self._connection.request("DELETE", f"{_path(pod)}/{meta['name']}", {"gracePeriodSeconds": 0})
            spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName", "priority")}
            kept = {key: meta[key] for key in ("name", "namespace", "labels", "annotations")}
            self._post({"apiVersion": "v1", "kind": POD, "metadata": kept, "spec": spec})
        for pod in self._items(POD):
            if "nodeName" in pod["spec"] and pod["status"]["phase"] == "Pending" and not _is_terminating(pod):
                self._set_status(pod, {"phase": "Running", "startTime": time_text(float(int(time.time())))})

    def pass_time(self, by_s: float) -> None:
        """Set the time to that of the clock, with a time passed: the times of all gangs are moved.

        The API server's clock, which says when a pod was evicted, cannot be moved.
        """
        clock = float(int(time.time()))
        earlier_s, self.now = by_s - (clock - self.now), clock
        for group in self._items(POD_GROUP):
            annotations = group["metadata"].get("annotations") or {}
            earlier = {key: _moved(value, -earlier_s) for key, value in annotations.items() if key in _TIMES}
            if earlier:
                path = f"{_path(group)}/{group['metadata']['name']}"
                self._connection.request("PATCH", path, {"metadata": {"annotations": earlier}}, content_type=_MERGE)

    def wait_for_watches(self, cache: ObjectCache) -> None:
        """Return when the cache holds what the API server does."""
        deadline = time.monotonic() + _SETTLED_S
        while any(self._versions(self._items(kind)) != self._cached(cache, kind) for kind in (POD, POD_GROUP)):
            assert time.monotonic() < deadline, "the watches do not deliver"
            time.sleep(0.05)

    def _batches(self, one: RecordedCluster, now: float) -> list[list[Object]]:
        """Return the objects that are created in each second: the nodes, then the queues and the gangs, one each."""
        batches: list[list[Object]] = [[_shard(one)]]
        for made in objects_of(one.cluster):
            if made["kind"] == "PriorityClass":
                continue
            if made["kind"] in ("Queue", POD_GROUP):
                batches.append([])
            batches[-1].append(_named(made, one, now - NOW))
        return batches

    def _create(self, made: Object) -> None:
        status = made.pop("status", None)
        stored = self._post(made)
        if status is not None and status != {"phase": "Pending"}:
            self._set_status(stored, status)
        if made["kind"] == "Node":
            # Admission taints every new node as not ready, and the controller that removes the taint does not run here.
            path = f"{WATCHED['Node'].everywhere}/{made['metadata']['name']}"
            self._connection.request("PATCH", path, {"spec": {"taints": None}}, content_type=_MERGE)

    def _set_status(self, one: Object, status: Object) -> None:
        path = f"{_path(one)}/{one['metadata']['name']}/status"
        self._connection.request("PATCH", path, {"status": status}, content_type=_MERGE)

    def _post(self, made: Object) -> Object:
        return self._connection.request("POST", _path(made), made)

    def _items(self, kind: str) -> list[Object]:
        path = WATCHED[kind].path(NAMESPACE)
        return [{"kind": kind, **one} for one in self._connection.request("GET", path)["items"]]

    @staticmethod
    def _cached(cache: ObjectCache, kind: str) -> dict[str, str]:
        held = (one for one in cache.objects() if one["kind"] == kind and one["metadata"]["namespace"] == NAMESPACE)
        return RecordedShards._versions(held)

    @staticmethod
    def _versions(objects: Iterable[Any]) -> dict[str, str]:
        return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in objects}


def _shard(one: RecordedCluster) -> Object:
    metadata = {"name": shard_of(one), "labels": {POOL: shard_of(one)}}
    spec = {"partitionLabelValue": shard_of(one)}
    return {"apiVersion": SHARD_API, "kind": "SchedulingShard", "metadata": metadata, "spec": spec}


def _named(made: Object, one: RecordedCluster, by_s: float) -> Object:
    """Return an object of a cluster as it is created in its shard, with its times moved."""
    shard = shard_of(one)
    old = made["metadata"]
    metadata: Object = {
        "name": f"{shard}-{old['name']}",
        "labels": {**old.get("labels", {}), POOL: shard},
        "annotations": {key: _moved(value, by_s) for key, value in old.get("annotations", {}).items()},
    }
    spec = dict(made.get("spec", {}))
    status = dict(made["status"]) if "status" in made else {}
    match made["kind"]:
        case "Queue":
            spec |= {"parentQueue": f"{shard}-{spec['parentQueue']}"} if "parentQueue" in spec else {}
        case "PodGroup":
            spec["queue"] = f"{shard}-{spec['queue']}"
        case "Pod":
            metadata["labels"][_GANG] = old["name"].rpartition("-")[0]
            metadata["annotations"]["pod-group-name"] = f"{shard}-{old['annotations']['pod-group-name']}"
            spec = {key: value for key, value in spec.items() if key != "priority"}
            spec["containers"] = [{**container, "image": "none"} for container in spec["containers"]]
            spec |= {"nodeName": f"{shard}-{spec['nodeName']}"} if "nodeName" in spec else {}
            status |= {"startTime": _moved(status["startTime"], by_s)} if "startTime" in status else {}
    metadata |= {"namespace": NAMESPACE} if "namespace" in old else {}
    named = {**made, "metadata": metadata, "spec": spec}
    return {**named, "status": status} if status else named


def _moved(text: str, by_s: float) -> str:
    """Return a time that is later; another text as it is."""
    try:
        return time_text(float(round(datetime.fromisoformat(text).timestamp() + by_s)))
    except ValueError:
        return text


def _path(made: Object) -> str:
    return WATCHED[made["kind"]].path(made["metadata"].get("namespace", ""))


def _is_terminating(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]

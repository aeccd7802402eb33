"""The live scheduler on an API server in this process, cycle by cycle, with a kubelet and a controller in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.conformance.kai_convergence_runs import NOW, Placements, RecordedCluster
from tests.unit.runtime.kube.api_server import ApiServer, Object, path_of, running

from apportion_runtime.kube.api_writer import ApiWriter, SingleScheduler
from apportion_runtime.kube.live_cluster import LiveCluster
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.resources import POD, WATCHED
from apportion_runtime.kube.scheduler import Scheduling, run_cycle
from apportion_runtime.kube.write_pool import WritePool
from apportion_runtime.snapshots.quantities import time_text

SETTLED_S = 120


class Terminating(ApiServer):
    """An API server on which an evicted pod terminates until it is removed."""

    now: float = NOW

    def _act(self, path: str, action: str, body: Object) -> tuple[int, dict[str, str], Object]:
        pod = self.held.get(path)
        if action != "eviction" or pod is None or "dryRun" in body["deleteOptions"]:
            status, headers, document = super()._act(path, action, body)
            return status, dict(headers), document
        self.put(path, {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": time_text(self.now)}}, "MODIFIED")
        return 201, {}, {"status": "Success"}

    def pods(self) -> dict[str, Object]:
        """Return the pods by path."""
        return {path: made for path, made in self.held.items() if made["kind"] == POD}


def live_run(one: RecordedCluster) -> Iterator[Placements]:
    """Yield what runs on the API server after each cycle of the live scheduler, which began with a cluster's objects.

    Bound pods run in the next cycle. Evicted ones terminate during the next cycle, and are pending again in the one
    after it, with the name, the uid and the creation time of the former.
    """
    server = Terminating()
    server.add(*one.objects())
    failures: list[str] = []
    with running(server) as connection:
        cache = ObjectCache(connection, on_fault=failures.append)
        cache.start(SETTLED_S)
        cluster = LiveCluster(cache, ApiWriter(connection, SingleScheduler()))
        kept: Scheduling | None = None
        try:
            for number in range(len(one.running)):
                now = server.now = NOW + number * one.interval_s
                leaving = [path for path, pod in server.pods().items() if _is_terminating(pod)]
                pool = WritePool(4, failures.append)
                kept = Scheduling(cluster, pool) if kept is None else replace(kept, pool=pool)
                try:
                    result = run_cycle(kept, now)
                finally:
                    # It ends when all notes are written: they include the start times of groups.
                    pool.stop()
                assert (result.refused, result.faults, failures) == ([], (), [])
                _carry_out(server, leaving, now)
                wait_for_watches(server, cache)
                yield frozenset(
                    (pod["metadata"]["name"], pod["spec"]["nodeName"])
                    for pod in server.pods().values()
                    if "nodeName" in pod["spec"] and not _is_terminating(pod)
                )
        finally:
            cache.stop()


def _carry_out(server: Terminating, leaving: list[str], now: float) -> None:
    for path in leaving:
        pod = server.pods()[path]
        server.remove(path)
        metadata = {key: value for key, value in pod["metadata"].items() if key != "deletionTimestamp"}
        spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
        server.put(path, {**pod, "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})
    for path, pod in server.pods().items():
        if "nodeName" in pod["spec"] and pod["status"]["phase"] == "Pending":
            status = {"phase": "Running", "startTime": time_text(now)}
            server.put(path, {**pod, "status": status}, "MODIFIED")


def wait_for_watches(server: ApiServer, cache: ObjectCache) -> None:
    deadline = time.monotonic() + SETTLED_S
    while not _is_current(server, cache):
        assert time.monotonic() < deadline, "the watches do not deliver"
        time.sleep(0.002)


def _is_current(server: ApiServer, cache: ObjectCache) -> bool:
    def versions(objects: Any) -> dict[str, str]:
        return {path_of(one): one["metadata"]["resourceVersion"] for one in objects if one["kind"] in WATCHED}

    return versions(list(server.held.values())) == versions(cache.objects())


def _is_terminating(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]

"""The live scheduler on a cluster of running gangs: `python live_cache_run.py NODES PODS` prints seconds of CPU and memory as JSON.

Objects are read from pages of JSON, as an API server sends them; writes succeed at once.
"""

from __future__ import annotations

import gc
import itertools
import json
import resource
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

# Run as a file, the script has its own folder on the path.
from live_objects import GANG, SCHEDULER, gangs, nodes, pod, setting

from apportion_runtime.kube.cluster import Manifest
from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.dry_run import DryRunCluster
from apportion_runtime.kube.object_cache import ObjectCache
from apportion_runtime.kube.scheduler import Scheduling, run_cycle
from apportion_runtime.kube.write_pool import WritePool

_LIMIT_S = 600
_AT = "2026-11-21T08:00:00Z"
_ROUNDS, _SETTLED_S = 5, 3


class Pages(Connection):
    """An API server that lists a cluster, and reports no changes."""

    def __init__(self, n_nodes: int, n_pods: int) -> None:
        self._made = {
            "nodes": _stored(nodes(n_nodes)),
            **{
                kind: _stored(iter([one for one in setting() if one[0].endswith(f"/{kind}")]))
                for kind in ("queues", "namespaces", "priorityclasses")
            },
            "podgroups": _stored(one for one in gangs(n_pods) if one[0].endswith("/podgroups")),
            "pods": _running(_stored(one for one in gangs(n_pods) if one[0].endswith("/pods"))),
        }

    def request(self, method: str, path: str, body: object = None, **_: Any) -> dict[str, Any]:
        url = urlsplit(path)
        limit = int(parse_qs(url.query)["limit"][0])
        page = list(itertools.islice(self._made.get(url.path.rpartition("/")[2], iter(())), limit))
        metadata = {"resourceVersion": "1", **({"continue": "more"} if len(page) == limit else {})}
        document: dict[str, Any] = json.loads(json.dumps({"items": page, "metadata": metadata}))
        return document

    def lines(self, path: str, timeout_s: int) -> Iterator[dict[str, Any]]:
        threading.Event().wait()
        yield {}


class Bound(DryRunCluster):
    """A cluster on which nothing is written, and each bind has succeeded."""

    def bind(self, pod: Manifest, node: str) -> None:
        self._cache.assume_bound(pod, node)

    def merge_status(self, kind: str, namespace: str, name: str, status: Mapping[str, Any]) -> None:
        self.merge(kind, namespace, name, {"status": status})


def _stored(requests: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield objects with what an API server adds, which includes a manager of each field."""
    for number, (path, made) in enumerate(requests):
        metadata = {
            "uid": f"5b2fd4a5-8a2b-4d5f-{len(path):04}-{number:012}",
            "creationTimestamp": _AT,
            "resourceVersion": str(number + 1),
            "managedFields": [{"manager": "kubectl", "operation": "Update", "time": _AT, "fieldsV1": _fields(made)}],
        }
        yield {**made, "metadata": {**made["metadata"], **metadata}}


def _fields(made: Any) -> Any:
    if isinstance(made, dict):
        return {f"f:{key}": _fields(value) for key, value in made.items()}
    return {f"k:{number}": _fields(one) for number, one in enumerate(made)} if isinstance(made, list) else {}


def _running(pods: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    conditions = [
        {"type": type_, "status": "True", "lastTransitionTime": _AT}
        for type_ in ("PodScheduled", "PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
    ]
    sources = [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "kube-root-ca.crt"}}]
    for number, made in enumerate(pods):
        container = {"name": "main", "imageID": f"sha256:{number:064}", "state": {"running": {"startedAt": _AT}}}
        volumes = [{"name": f"kube-api-access-{number:05}", "projected": {"sources": sources}}]
        spec = {**made["spec"], "nodeName": f"node-{number // (2 * GANG):05}", "volumes": volumes}
        status = {"phase": "Running", "podIP": "10.0.0.1", "conditions": conditions, "containerStatuses": [container]}
        yield {**made, "spec": spec, "status": status}


def main(n_nodes: str, n_pods: str) -> None:
    """Run cycles, and print what they take."""
    cache = ObjectCache(Pages(int(n_nodes), int(n_pods)))
    cache.start(_LIMIT_S)
    # As the process of the scheduler does.
    gc.collect()
    gc.disable()
    pool = WritePool(2, print)
    scheduling = Scheduling(Bound(cache), pool, SCHEDULER)
    first_s = _cycle(scheduling)
    # What the first cycle has found out about each pod group is written.
    time.sleep(_SETTLED_S)
    idle_s = min(_cycle(scheduling) for _ in range(_ROUNDS))
    lone_s = []
    for number in range(_ROUNDS):
        name = f"lone-{number}"
        made = pod(name)
        metadata = {**made["metadata"], "uid": name, "resourceVersion": str(number + 2), "creationTimestamp": _AT}
        cache.put_created("Pod", {**made, "metadata": metadata, "status": {"phase": "Pending"}})
        lone_s.append(_cycle(scheduling, n_bound=1))
    print(
        json.dumps(
            {
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "first_s": first_s,
                "idle_s": idle_s,
                "lone_s": min(lone_s),
            }
        )
    )


def _cycle(scheduling: Scheduling, n_bound: int = 0) -> float:
    """Run a cycle that binds a number of pods, and return its seconds of CPU."""
    began_s = time.process_time()
    result = run_cycle(scheduling, time.time())
    took_s = time.process_time() - began_s
    assert (result.faults, len(result.bound)) == ((), n_bound), result
    gc.collect(0)
    return took_s


if __name__ == "__main__":
    main(*sys.argv[1:])

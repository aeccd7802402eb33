"""Stand-ins for what runs pods: KubeRay's operator for RayJobs, a pod scheduler, and kubelets.

A RayJob that is not suspended gets a RayCluster and its pods. Every pod is bound to one node and reported as running,
whatever it requests. The work of a job ends when a test says so: pods of a Job then succeed, and the Job controller of
kube-controller-manager completes it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused

_RAY = "/apis/ray.io/v1"
_MERGE = "application/merge-patch+json"
_PERIOD_S = 0.2


class JobControllers:
    """The stand-ins, for the namespaces of a test.

    Args:
        connection: The administrator's.
        node: The node of all pods.
        namespaces: The namespaces.
    """

    def __init__(self, connection: Connection, node: str, namespaces: frozenset[str]) -> None:
        self._connection = connection
        self._node = node
        self._namespaces = namespaces
        self._ended = threading.Event()
        self._finished: set[str] = set()
        self.failures: list[str] = []

    def finish(self, name: str) -> None:
        """End the work of a job."""
        self._finished.add(name)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Run in the block."""
        thread = threading.Thread(target=self._run, name="job controllers")
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_PERIOD_S):
            try:
                for namespace in sorted(self._namespaces):
                    self._reconcile(namespace)
            except Refused as refused:
                # A conflict with another controller is solved in the next round.
                self.failures.append(str(refused))

    def _reconcile(self, namespace: str) -> None:
        pods = self._list(f"/api/v1/namespaces/{namespace}/pods")
        for job in self._list(f"{_RAY}/namespaces/{namespace}/rayjobs"):
            self._reconcile_ray_job(job, pods)
        for pod in pods:
            self._run_pod(pod)

    def _list(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._connection.request("GET", path)["items"]
        return found

    def _reconcile_ray_job(self, job: dict[str, Any], pods: list[dict[str, Any]]) -> None:
        metadata, status = job["metadata"], job.get("status") or {}
        path = f"{_RAY}/namespaces/{metadata['namespace']}/rayjobs/{metadata['name']}/status"
        phase = status.get("jobDeploymentStatus")
        if phase == "Complete":
            self._shut_down(job)
        elif job["spec"].get("suspend"):
            if phase != "Suspended":
                self._patch(path, {"status": {"jobDeploymentStatus": "Suspended"}})
        elif phase != "Running":
            self._create_cluster(job)
            cluster = f"{metadata['name']}-cluster"
            self._patch(path, {"status": {"jobDeploymentStatus": "Running", "rayClusterName": cluster}})
        elif metadata["name"] in self._finished:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._patch(path, {"status": {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "endTime": now}})

    def _shut_down(self, job: dict[str, Any]) -> None:
        """Delete the cluster of a finished RayJob after its TTL."""
        retained = timedelta(seconds=job["spec"].get("ttlSecondsAfterFinished") or 0)
        if datetime.now(UTC) < datetime.fromisoformat(job["status"]["endTime"]) + retained:
            return
        name = f"{job['metadata']['name']}-cluster"
        with contextlib.suppress(Refused):
            self._connection.request("DELETE", f"{_RAY}/namespaces/{job['metadata']['namespace']}/rayclusters/{name}")

    def _create_cluster(self, job: dict[str, Any]) -> None:
        metadata, spec = job["metadata"], job["spec"]["rayClusterSpec"]
        namespace, name = metadata["namespace"], f"{metadata['name']}-cluster"
        cluster = {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": name, "ownerReferences": [_owner(job)]},
            "spec": spec,
        }
        made = self._create(f"{_RAY}/namespaces/{namespace}/rayclusters", cluster)
        groups = [("head", 1, spec["headGroupSpec"])]
        groups += [(one["groupName"], one["replicas"], one) for one in spec.get("workerGroupSpecs") or ()]
        for group, count, described in groups:
            for number in range(count):
                pod = {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": f"{name}-{group}-{number}",
                        "labels": {"ray.io/cluster": name, "ray.io/group": group},
                        "ownerReferences": [_owner(made)],
                    },
                    "spec": {**described["template"]["spec"], "terminationGracePeriodSeconds": 0},
                }
                self._create(f"/api/v1/namespaces/{namespace}/pods", pod)

    def _create(self, path: str, made: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._connection.request("POST", path, made)
        except Refused as refused:
            if "already exists" not in str(refused):
                raise
        return self._connection.request("GET", f"{path}/{made['metadata']['name']}")

    def _run_pod(self, pod: dict[str, Any]) -> None:
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        phase, owner = pod["status"].get("phase"), _job_of(pod)
        if "deletionTimestamp" in metadata or phase in ("Succeeded", "Failed"):
            return
        if not pod["spec"].get("nodeName"):
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": metadata["name"]},
                "target": {"apiVersion": "v1", "kind": "Node", "name": self._node},
            }
            self._connection.request("POST", f"{path}/binding", binding)
        elif owner is not None and owner in self._finished:
            self._patch(f"{path}/status", {"status": {"phase": "Succeeded"}})
        elif phase != "Running":
            ready = [{"type": "Ready", "status": "True"}]
            self._patch(f"{path}/status", {"status": {"phase": "Running", "conditions": ready}})

    def _patch(self, path: str, patch: dict[str, Any]) -> None:
        self._connection.request("PATCH", path, patch, content_type=_MERGE)


def _owner(made: dict[str, Any]) -> dict[str, Any]:
    reference = {key: made["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": made["apiVersion"], "kind": made["kind"], "controller": True, **reference}


def _job_of(pod: dict[str, Any]) -> str | None:
    """Return the name of the Job of a pod; None if it has another owner."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((str(one["name"]) for one in owners if one["kind"] == "Job"), None)

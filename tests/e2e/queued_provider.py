"""A stand-in for a provider's queued provisioning: it fulfils ProvisioningRequests with nodes of KWOK, or lets them wait.

What a request needs, and whether the scenario's capacity and quota suffice at a time, are the rules of the simulated
provider. Everything else is on the API server: conditions, nodes with the label of their request, and the change of the
pods that consume a request.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from apportion_api.kubernetes.names import ZONE_LABEL
from apportion_runtime.sim.kubelet.nodes import node_manifest, node_name
from apportion_runtime.sim.provisioning.request_checks import (
    GKE_POOL_LABEL,
    QUEUED_TAINT,
    REQUEST_LABEL,
    UnmetRequest,
    check_request,
    request_name,
)
from apportion_runtime.sim.provisioning.request_consumers import CONSUMES
from apportion_runtime.sim.provisioning.zone_capacity import HeldMachines, find_machines
from apportion_runtime.sim.scenario.format import Pool

from .admission import condition, provisioning_requests
from .kubectl import Kubectl, Object
from .kwok_nodes import register

WEBHOOK = "queued-provisioning.example.com"
_FINAL = ("Failed", "CapacityRevoked", "BookingExpired")
_REQUESTS = "provisioningrequests.autoscaling.x-k8s.io"


@dataclass
class QueuedProvider:
    """The provider of the pools of a scenario with queued provisioning.

    Attributes:
        kubectl: The administrator's.
        pools: The pools.
        at_s: The time of the scenario, for its capacity and quota.
        held: The machines of each provisioned request, by its name.
        nodes: The nodes of each provisioned request.
        failed: The names of the requests that failed, by job.
    """

    kubectl: Kubectl
    pools: tuple[Pool, ...]
    at_s: float = 0.0
    held: dict[str, HeldMachines] = field(default_factory=dict)
    nodes: dict[str, list[Object]] = field(default_factory=dict)
    failed: dict[str, set[str]] = field(default_factory=dict)

    def answer(self) -> None:
        """Accept new requests, and provision those that can be met, the oldest first."""
        requests = provisioning_requests(self.kubectl)
        for request in sorted(requests, key=lambda one: str(one["metadata"]["creationTimestamp"])):
            name = request["metadata"]["name"]
            if name in self.held or any(condition(request, kind) for kind in _FINAL):
                continue
            needed = check_request(request, self._templates(request), self.pools)
            if isinstance(needed, UnmetRequest):
                self.failed.setdefault(_workload_of(name), set()).add(name)
                self._set(request, Failed=("True", needed.reason, needed.message))
                continue
            found = find_machines(needed, {pool.name: pool for pool in self.pools}, self.held.values(), self.at_s)
            accepted = {"Accepted": ("True", "Accepted", "accepted")}
            if isinstance(found, HeldMachines):
                self.held[name] = found
                self.nodes[name] = register(self.kubectl, self._new_nodes(request, found))
                provisioned = ("True", "CapacityIsProvisioned", "Capacity is provisioned")
                self._set(request, **accepted, Provisioned=provisioned)
            elif condition(request, "Provisioned").get("reason") != found.reason:
                self._set(request, **accepted, Provisioned=("False", found.reason, found.message))

    def release(self, job: str) -> None:
        """Remove the nodes of a job's request, and the pods on them, as the pod garbage collector does."""
        name = self._of(job)
        del self.held[name]
        nodes = self.nodes.pop(name)
        self.kubectl.delete_objects(nodes)
        gone = {node["metadata"]["name"] for node in nodes}
        pods = [
            one for one in self.kubectl.get("pods", "--all-namespaces")["items"] if one["spec"].get("nodeName") in gone
        ]
        for one in pods:
            meta = one["metadata"]
            flags = (f"--namespace={meta['namespace']}", "--force", "--grace-period=0", "--ignore-not-found")
            self.kubectl.must("delete", "pod", meta["name"], *flags)

    def revoke(self, job: str) -> None:
        """Remove the nodes of a job's request at the end of their runtime, and the pods on them."""
        name = self._of(job)
        self._set(
            self._request(name),
            CapacityRevoked=("True", "MaxRunDurationExceeded", "its nodes reached the maximum runtime"),
        )
        self.release(job)

    def expire(self, job: str) -> None:
        """Remove the nodes of a request that no pod has used in time."""
        self._set(self._request(self._of(job)), BookingExpired=("True", "BookingExpired", "no pod was scheduled"))
        self.release(job)

    def reason(self, job: str) -> str | None:
        """Return why the request of a job waits; None if it has no request."""
        of_job = [one for one in provisioning_requests(self.kubectl) if self._is_of(one, job)]
        return str(condition(of_job[0], "Provisioned").get("reason")) if of_job else None

    def nodes_of(self, job: str) -> list[Object]:
        """Return the nodes of a job's request."""
        return self.nodes[self._of(job)]

    def consuming(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Return a pod that consumes a request as the provider's webhook changes it: it runs only on the nodes of it."""
        annotations = pod["metadata"].get("annotations") or {}
        name = next((annotations[key] for key in CONSUMES if key in annotations), None)
        if name is None:
            return pod
        request = self.kubectl.get(_REQUESTS, name, f"--namespace={pod['metadata']['namespace']}")
        selector = {**pod["spec"].get("nodeSelector", {}), REQUEST_LABEL: request_name(request)}
        tolerations = [*pod["spec"].get("tolerations", ()), {**QUEUED_TAINT, "operator": "Equal"}]
        return {**pod, "spec": {**pod["spec"], "nodeSelector": selector, "tolerations": tolerations}}

    def _request(self, name: str) -> Object:
        (found,) = (one for one in provisioning_requests(self.kubectl) if one["metadata"]["name"] == name)
        return found

    def _of(self, job: str) -> str:
        (name,) = (name for name in self.held if _workload_of(name) == job)
        return name

    @staticmethod
    def _is_of(request: Object, job: str) -> bool:
        return _workload_of(request["metadata"]["name"]) == job

    def _templates(self, request: Object) -> dict[str, Object]:
        found = self.kubectl.get("podtemplates", f"--namespace={request['metadata']['namespace']}")["items"]
        return {one["metadata"]["name"]: one for one in found}

    def _new_nodes(self, request: Object, machines: HeldMachines) -> Iterator[Object]:
        (pool,) = (one for one in self.pools if one.name == machines.pool)
        first = sum(map(len, self.nodes.values()))
        label = request_name(request)
        for number in range(machines.nodes):
            made = node_manifest(pool, f"{node_name(pool, first + number)}-{label[-8:]}")
            added = {GKE_POOL_LABEL: pool.name, REQUEST_LABEL: label, ZONE_LABEL: machines.zone}
            metadata = {**made["metadata"], "labels": {**made["metadata"]["labels"], **added}}
            taints = [*made["spec"].get("taints", ()), dict(QUEUED_TAINT)]
            yield {**made, "metadata": metadata, "spec": {"taints": taints}}

    def _set(self, request: Object, **conditions: tuple[str, str, str]) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        held = {one["type"]: one for one in request.get("status", {}).get("conditions", ())}
        for kind, (status, reason, message) in conditions.items():
            made = {"status": status, "reason": reason, "message": message, "lastTransitionTime": now}
            held[kind] = {"type": kind, **made}
        meta = request["metadata"]
        patch = json.dumps({"status": {"conditions": list(held.values())}})
        flags = ("--subresource=status", "--type=merge", f"--namespace={meta['namespace']}", "--patch", patch)
        answer = self.kubectl("patch", _REQUESTS, meta["name"], *flags)
        # Kueue may have deleted the request since it was listed.
        assert answer.accepted or "(NotFound)" in answer.said, answer.said


def _workload_of(request: str) -> str:
    """Return the name of the job of a request: Kueue names it `job-NAME-HASH-CHECK-NUMBER`."""
    return request.removeprefix("job-").rsplit("-", 3)[0]

"""A stand-in for the process in KAI's reservation pods, and for the device plugin: it gives each of them a device."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from apportion_runtime.kube.connection import Connection, connect
from apportion_runtime.kube.errors import Refused

from .kubectl import Kubectl, Object
from .namespaces import delete_with_namespaces, namespace

NAMESPACE = "kai-resource-reservation"
_PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_DEVICE = "run.ai/reserve_for_gpu_index"
_PERIOD_S = 0.2


@dataclass
class ReservationAgent:
    """Reports a device of each reservation pod while `reports` is set.

    Attributes:
        connection: The API server, as its administrator.
        reports: Set while devices are reported.
        nodes: The node of each device that was reported.
    """

    connection: Connection
    reports: threading.Event = field(default_factory=threading.Event)
    nodes: dict[str, str] = field(default_factory=dict)

    def pods(self) -> dict[str, Object]:
        """Return the reservation pods by name."""
        return {one["metadata"]["name"]: one for one in self.connection.request("GET", _PODS)["items"]}

    def devices(self) -> dict[str, str]:
        """Return the device of each group."""
        found = {}
        for one in self.pods().values():
            device = one["metadata"]["annotations"].get(_DEVICE)
            if device is not None:
                found[one["metadata"]["labels"]["runai-gpu-group"]] = device
        return found

    def report(self) -> None:
        """Report the devices of all reservation pods that have none."""
        for name, one in self.pods().items():
            if _DEVICE in one["metadata"]["annotations"]:
                continue
            device = f"GPU-{len(self.nodes)}"
            self.nodes[device] = one["spec"]["nodeName"]
            patch = {"metadata": {"annotations": {_DEVICE: device}}}
            try:
                self.connection.request("PATCH", f"{_PODS}/{name}", patch, content_type="application/merge-patch+json")
            except Refused:
                # The scheduler has deleted it meanwhile.
                continue


@contextmanager
def reservation_agent(kubectl: Kubectl) -> Iterator[ReservationAgent]:
    """Create the namespace and the service account of reservation pods, and run the stand-in during the block."""
    assert kubectl.create(namespace(NAMESPACE)).accepted
    kubectl.must("create", "serviceaccount", NAMESPACE, f"--namespace={NAMESPACE}")
    agent, ended = ReservationAgent(connect(str(kubectl.kubeconfig))), threading.Event()

    def run() -> None:
        while not ended.wait(_PERIOD_S):
            if agent.reports.is_set():
                agent.report()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield agent
    finally:
        ended.set()
        thread.join()
        delete_with_namespaces(kubectl, [namespace(NAMESPACE)])

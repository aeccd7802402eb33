"""Leader election: of several schedulers, the one that holds the lease is active."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.resources import LEASE

DURATION_S = 15


@dataclass(frozen=True, slots=True)
class Leadership:
    """A lease for leader election.

    Attributes:
        connection: The API server.
        namespace: The namespace of the lease.
        name: The name of the lease.
        holder: The unique identity of this scheduler.
    """

    connection: Connection
    namespace: str
    name: str
    holder: str

    def is_held(self, now: float) -> bool:
        """Acquire or renew the lease; return whether this scheduler holds it.

        The API server rejects conflicting writes, so two schedulers never hold it.
        """
        path = LEASE.path(self.namespace, self.name)
        try:
            found = self.connection.request("GET", path)
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise
            return self._written("POST", LEASE.path(self.namespace), self._lease(now, {}))
        spec = found["spec"]
        holder, renewed = spec.get("holderIdentity"), spec.get("renewTime")
        if holder and holder != self.holder and renewed and now - _seconds(renewed) < spec["leaseDurationSeconds"]:
            return False
        return self._written("PUT", path, self._lease(now, found))

    def release(self) -> None:
        """Release the lease, so that another scheduler can acquire it immediately."""
        path = LEASE.path(self.namespace, self.name)
        found = self.connection.request("GET", path)
        if found["spec"].get("holderIdentity") == self.holder:
            self._written("PUT", path, {**found, "spec": {**found["spec"], "holderIdentity": ""}})

    def _written(self, method: str, path: str, lease: object) -> bool:
        try:
            self.connection.request(method, path, lease)
        except Refused as refused:
            if refused.status == HTTPStatus.CONFLICT:
                return False
            raise
        return True

    def _lease(self, now: float, before: dict[str, Any]) -> dict[str, Any]:
        former = before.get("spec", {})
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        is_same = former.get("holderIdentity") == self.holder
        spec = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": DURATION_S,
            "renewTime": stamp,
            "acquireTime": former.get("acquireTime", stamp) if is_same else stamp,
            "leaseTransitions": former.get("leaseTransitions", 0) + (0 if is_same or not former else 1),
        }
        metadata = before.get("metadata", {"name": self.name, "namespace": self.namespace})
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata, "spec": spec}


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()

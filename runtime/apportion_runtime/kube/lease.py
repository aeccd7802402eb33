"""Of several schedulers one decides: whoever holds the lease, and renews it in time."""

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
    """A lease that schedulers take turns to hold.

    Attributes:
        connection: The API server.
        namespace: Where the lease is, and
        name: what it is called.
        holder: This scheduler's own name, unlike any other's.
    """

    connection: Connection
    namespace: str
    name: str
    holder: str

    def is_held(self, now: float) -> bool:
        """Take the lease or renew it, and tell whether this scheduler has it.

        A write that meets another's is refused by the API server, so that two never have it.
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
        """Let another have the lease at once."""
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

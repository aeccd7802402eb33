"""Leader election: of several schedulers, the one that holds the lease writes.

A candidate acquires the lease when its record has not changed for the lease duration, by the candidate's own monotonic
clock from the moment it observed the change; timestamps of the holder are not used. The leader writes only while its
last renewal is more recent than the renew deadline, which ends before any candidate can acquire the lease. A thread
renews the lease, so that a long cycle does not lose it.

Source: client-go tools/leaderelection/leaderelection.go.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from apportion_runtime.kube.connection import Connection
from apportion_runtime.kube.errors import Refused, Rejection, Unreachable
from apportion_runtime.kube.resources import LEASE

Clock = Callable[[], float]

_RELEASE_S, _RELEASE_RETRY_S = 3.0, 0.25
"""For how long failed attempts to release the lease are repeated: a process that ends must do so in its grace period."""
_REPEATED = (Rejection.CONFLICT, Rejection.TEMPORARY)


@dataclass(frozen=True, slots=True)
class LeaseTiming:
    """Durations in seconds, with the defaults of kube-scheduler.

    Attributes:
        lease_s: A candidate waits this long after the last observed change.
        renew_deadline_s: The leader stops writing this long after its last renewal.
        retry_s: The time between attempts to acquire or renew.

    Raises:
        ValueError: If the leader would write when a candidate may already lead.
    """

    lease_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        if not self.retry_s < self.renew_deadline_s < self.lease_s:
            raise ValueError(
                "the retry period must be less than the renew deadline, which must be less than the lease duration"
            )


def elapsed_s() -> float:
    """Return a monotonic clock that includes suspended time, if the system has one."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)


class LeaderElection:
    """One candidate.

    Args:
        connection: The API server.
        namespace: The namespace of the lease.
        name: The name of the lease.
        holder: The unique identity of this scheduler.
        timing: The durations.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: str,
        name: str,
        holder: str,
        *,
        timing: LeaseTiming = LeaseTiming(),
        clock: Clock = elapsed_s,
    ) -> None:
        self._connection = connection
        self._path = LEASE.path(namespace, name)
        self._parent = LEASE.path(namespace)
        self._metadata = {"name": name, "namespace": namespace}
        self._holder = holder
        self._timing = timing
        self._clock = clock
        self._observed: dict[str, Any] | None = None
        self._observed_at = 0.0
        self._renewed_at: float | None = None
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.fault: str | None = None
        """Why the lease could not be acquired or renewed last."""

    @property
    def write_time_s(self) -> float:
        """The time for which a write that begins at this moment may last; 0 or less if none may begin."""
        renewed = self._renewed_at
        if renewed is None or (since := self._clock() - renewed) >= self._timing.renew_deadline_s:
            return 0.0
        return self._timing.lease_s - since

    @property
    def is_leader(self) -> bool:
        """Whether this scheduler may write."""
        return self.write_time_s > 0

    @property
    def other_holder(self) -> str | None:
        """The identity of another scheduler that may lead, as the lease was read last; None if there is none."""
        observed = self._observed
        if observed is None or not self._is_held_by_another():
            return None
        return str(_spec(observed)["holderIdentity"])

    @property
    def lease(self) -> str:
        """The namespace and name of the lease."""
        return f"{self._metadata['namespace']}/{self._metadata['name']}"

    def start(self) -> None:
        """Start the thread that acquires and renews the lease."""
        self._thread = threading.Thread(target=self._renew, name="leader-election", daemon=True)
        self._thread.start()

    def stop(self) -> str:
        """Stop the thread, release the lease if it is held, and return what became of it. All writes must have ended."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        outcome = self._release() if self.is_leader else "not held"
        self._renewed_at = None
        return outcome

    def try_acquire_or_renew(self) -> bool:
        """Acquire or renew the lease; return whether this scheduler holds it.

        Raises:
            Refused: If the API server rejects the request for another reason than a conflict.
            Unreachable: If it does not respond.
        """
        # A renewal counts from before its request: the record may have changed at any time since.
        began = self._clock()
        try:
            found = self._request("GET", self._path)
        except Refused as refused:
            if refused.status != HTTPStatus.NOT_FOUND:
                raise
            # The holder of a lease that is deleted writes until its next renewal.
            if self._is_held_by_another():
                return False
            return self._write("POST", self._parent, {"metadata": self._metadata}, began)
        if self._observed is None or _spec(found) != _spec(self._observed):
            self._observed_at = self._clock()
        self._observed = found
        if self._is_held_by_another():
            self._renewed_at = None
            return False
        return self._write("PUT", self._path, found, began)

    def _is_held_by_another(self) -> bool:
        """Whether another scheduler may lead, by the record that was observed last."""
        spec = {} if self._observed is None else _spec(self._observed)
        if spec.get("holderIdentity") in (None, "", self._holder):
            return False
        return self._clock() - self._observed_at < (spec.get("leaseDurationSeconds") or self._timing.lease_s)

    def _renew(self) -> None:
        while not self._ended.is_set():
            try:
                self.try_acquire_or_renew()
                self.fault = None
            except (Refused, Unreachable) as failed:
                # Until the renew deadline, the leader leads and tries again.
                self.fault = str(failed)
            self._ended.wait(self._timing.retry_s)

    def _write(self, method: str, path: str, before: dict[str, Any], began: float) -> bool:
        lease = self._lease(before)
        try:
            self._observed = self._request(method, path, lease)
        except Refused as refused:
            if refused.status != HTTPStatus.CONFLICT:
                raise
            # Another candidate wrote the record; the next attempt reads its identity.
            return False
        self._observed_at = self._clock()
        self._renewed_at = began
        return True

    def _release(self) -> str:
        began = time.monotonic()
        while True:
            try:
                return self._release_once()
            except (Refused, Unreachable) as failed:
                is_final = isinstance(failed, Refused) and failed.rejection not in _REPEATED
                if is_final or time.monotonic() - began > _RELEASE_S:
                    return f"not released ({failed}); it expires after {self._timing.lease_s:g} s"
            time.sleep(_RELEASE_RETRY_S)

    def _release_once(self) -> str:
        found = self._request("GET", self._path)
        spec = _spec(found)
        if spec.get("holderIdentity") != self._holder:
            return "not held"
        released = {**spec, "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _stamp()}
        self._request("PUT", self._path, {**found, "spec": released})
        return "released"

    def _request(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        return self._connection.request(method, path, body, timeout_s=self._timing.renew_deadline_s / 2)

    def _lease(self, before: dict[str, Any]) -> dict[str, Any]:
        former, stamp = _spec(before), _stamp()
        is_same = former.get("holderIdentity") == self._holder
        spec = {
            "holderIdentity": self._holder,
            # The field has whole seconds, and must not be shorter than the duration that candidates wait.
            "leaseDurationSeconds": max(1, -int(-self._timing.lease_s // 1)),
            "renewTime": stamp,
            "acquireTime": former.get("acquireTime", stamp) if is_same else stamp,
            "leaseTransitions": (former.get("leaseTransitions") or 0) + (0 if is_same or not former else 1),
        }
        return {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": before["metadata"], "spec": spec}


def _spec(lease: Mapping[str, Any]) -> Mapping[str, Any]:
    # Optional: a lease that was created by hand may have none.
    return lease.get("spec") or {}


def _stamp() -> str:
    """Return the time, for readers of the lease; no decision depends on it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

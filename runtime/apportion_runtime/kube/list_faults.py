"""The kinds of objects that cannot be listed: reported when this begins, and when it has ended."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from http import HTTPStatus
from typing import NamedTuple

from apportion_runtime.kube.errors import Refused, Unreachable, connection_fault
from apportion_runtime.kube.resources import Resource


class _ListFault(NamedTuple):
    text: str
    is_of_connection: bool
    is_of_definition: bool


class ListFaults:
    """Why kinds cannot be listed; safe for use by several threads.

    Args:
        on_fault: Receives the reason of each failure.
        on_recovery: Receives a line when a kind can be listed again, and the reasons that have ended.
    """

    def __init__(self, on_fault: Callable[[str], None], on_recovery: Callable[[str, Collection[str]], None]) -> None:
        self._on_fault = on_fault
        self._on_recovery = on_recovery
        self._faults: dict[str, _ListFault] = {}
        # By kind, or None for the connection: the reasons since the last success.
        self._reasons: dict[str | None, set[str]] = {}
        self._lock = threading.Lock()

    @property
    def texts(self) -> Mapping[str, str]:
        """The reason of each kind, as a clause."""
        with self._lock:
            return {kind: fault.text for kind, fault in self._faults.items()}

    @property
    def summary(self) -> str | None:
        """All reasons; None if every kind can be listed."""
        return "; ".join(dict.fromkeys(self.texts.values())) or None

    @property
    def lacks_definitions(self) -> bool:
        """Whether the API server does not define a kind."""
        with self._lock:
            return any(fault.is_of_definition for fault in self._faults.values())

    def failed(self, resource: Resource, failed: Refused | Unreachable) -> None:
        """Record that a kind cannot be listed."""
        common = connection_fault(failed)
        fault = _ListFault(watch_fault(resource, failed), common is not None, _is_undefined(failed))
        with self._lock:
            former = self._faults.get(resource.kind)
            self._faults[resource.kind] = fault
            self._reasons.setdefault(_scope(resource, fault), set()).add(fault.text)
            ended = former if former is not None and former.is_of_connection != fault.is_of_connection else None
        if ended is not None:
            self._end(resource, ended)
        self._on_fault(fault.text)

    def listed(self, resource: Resource) -> None:
        """Record that a kind was listed."""
        with self._lock:
            fault = self._faults.pop(resource.kind, None)
        if fault is not None:
            self._end(resource, fault)

    def _end(self, resource: Resource, fault: _ListFault) -> None:
        with self._lock:
            if fault.is_of_connection and any(one.is_of_connection for one in self._faults.values()):
                return
            reasons = self._reasons.pop(_scope(resource, fault), None)
        if reasons is not None:
            subject = "the API server responds" if fault.is_of_connection else f"{resource.plural} can be listed"
            self._on_recovery(f"{subject} again", reasons)


def watch_fault(resource: Resource, failed: Refused | Unreachable) -> str:
    """Return why a kind cannot be watched, as a clause; the same for all kinds if the connection is at fault."""
    if _is_undefined(failed):
        return f"cannot watch {resource.plural}: the API server does not serve {resource.definition}; no cycle runs until it does"
    return connection_fault(failed) or f"cannot watch {resource.plural}: {failed}"


def _is_undefined(failed: Refused | Unreachable) -> bool:
    return isinstance(failed, Refused) and failed.status == HTTPStatus.NOT_FOUND


def _scope(resource: Resource, fault: _ListFault) -> str | None:
    return None if fault.is_of_connection else resource.kind

"""What somebody does to a job that waits in an engine's queue; engines whose queues know nothing of it have no handler."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_runtime.sim.api.events import EngineEvent


@dataclass(frozen=True, slots=True)
class JobChanged(EngineEvent):
    """Somebody changes the priority of a queued job; `priority` None is what puts it before all others."""

    namespace: str
    name: str
    priority: int | None

"""Changes of a job that waits in an engine's queue; engines that do not support them have no handler."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_runtime.sim.api.events import EngineEvent


@dataclass(frozen=True, slots=True)
class JobChanged(EngineEvent):
    """The priority of a queued job changes; `priority` None moves it to the head of its queue."""

    namespace: str
    name: str
    priority: int | None

"""A pod group between cycles, and its phase.

Source: pkg/scheduler/api/job_info.go, pkg/apis/scheduling/v1beta1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from apportion_runtime.engines.volcano.amounts import Amounts


class Phase(Enum):
    """The phase of a pod group."""

    PENDING = "Pending"
    INQUEUE = "Inqueue"
    RUNNING = "Running"
    UNKNOWN = "Unknown"


@dataclass(slots=True)
class GroupState:
    """A pod group between cycles: its spec, its phase, and the number of its succeeded pods."""

    key: str
    queue: str
    least: int
    least_resources: Amounts | None
    priority: int
    created: float
    workload: int
    phase: Phase = Phase.PENDING
    is_owned: bool = True
    """Whether it is deleted together with its workload."""
    n_succeeded: int = 0
    why: str = ""
    task_least: Mapping[str, int] = field(default_factory=dict)
    """The minimum number of pods of each role (`minTaskMember`); ignored if their sum exceeds `least`."""

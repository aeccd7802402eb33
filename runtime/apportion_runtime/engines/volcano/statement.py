"""Decisions of Volcano's actions that are committed or discarded together.

Source: pkg/scheduler/framework/statement.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apportion_runtime.engines.kube_scheduler.nodes import NodeState
from apportion_runtime.engines.volcano.jobs import Status, Task


@dataclass(slots=True)
class Statement:
    """A statement: decisions that are committed or discarded together."""

    done: list[tuple[Task, Status, NodeState | None]] = field(default_factory=list)
    """Changed pods with their previous status and node."""
    evicted: list[tuple[Task, Task, str]] = field(default_factory=list)
    """Evicted pods, with the beneficiary and the action."""
    placed: list[Task] = field(default_factory=list)
    nominated: list[tuple[Task, NodeState]] = field(default_factory=list)


def merge(into: Statement, other: Statement) -> None:
    """Merge one statement into another."""
    into.done += other.done
    into.evicted += other.evicted
    into.placed += other.placed
    into.nominated += other.nominated

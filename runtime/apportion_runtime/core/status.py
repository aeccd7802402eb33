"""The states of a pod, as bits, and the groups of states that rules refer to.

Source: pkg/scheduler/api/pod_status/pod_status.go.
"""

from __future__ import annotations

from enum import IntFlag


class Status(IntFlag):
    """The state of a pod in a session."""

    PENDING = 1
    GATED = 2
    ALLOCATED = 4
    PIPELINED = 8
    BINDING = 16
    BOUND = 32
    RUNNING = 64
    RELEASING = 128
    SUCCEEDED = 256
    FAILED = 512
    UNKNOWN = 1024
    DELETED = 2048
    STUCK_IN_RELEASING = 4096


# Plain integers: the sets are tested on every step, and flags of an enumeration cost a call each.
PENDING, GATED, ALLOCATED, PIPELINED, BINDING, BOUND, RUNNING, RELEASING, SUCCEEDED, FAILED, UNKNOWN, DELETED, STUCK = (
    int(status) for status in Status
)
ACTIVE_ALLOCATED_STATUSES = ALLOCATED | PIPELINED | BINDING | BOUND | RUNNING
ACTIVE_USED_STATUSES = ACTIVE_ALLOCATED_STATUSES | RELEASING | STUCK
ALIVE_STATUSES = ACTIVE_ALLOCATED_STATUSES | PENDING | GATED
ALLOCATED_STATUSES = ALLOCATED | BOUND | BINDING | RUNNING

NAMES: dict[int, str] = {
    PENDING: "Pending",
    GATED: "Gated",
    ALLOCATED: "Allocated",
    PIPELINED: "Pipelined",
    BINDING: "Binding",
    BOUND: "Bound",
    RUNNING: "Running",
    RELEASING: "Releasing",
    SUCCEEDED: "Succeeded",
    FAILED: "Failed",
    UNKNOWN: "Unknown",
    DELETED: "Deleted",
    STUCK: "StuckInReleasing",
}
"""KAI's name of each state."""

BY_NAME: dict[str, int] = {name: status for status, name in NAMES.items()}

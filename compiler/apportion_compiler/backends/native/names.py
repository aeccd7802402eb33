"""What a workload writes for Kubernetes' own scheduler: nothing names a queue, its namespace is all there is."""

from __future__ import annotations

from apportion_compiler.ir.program import Program, Queue


def workload_queue(program: Program, queue: Queue) -> str | None:
    """Return None: a workload belongs to the queue whose namespace it is in."""
    return None

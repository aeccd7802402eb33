"""Whether a workload is gang-scheduled: by engine, kind, and gang settings of its pods."""

from __future__ import annotations

from apportion_compiler.bindings import ENGINES
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload


def starts_together(engine: str, workload: Workload) -> bool:
    """Return whether all pods of a workload start together or none does."""
    if workload.is_of("apps") or workload.is_of("", "ReplicationController"):
        return False
    return ENGINES[engine].starts_together(workload)

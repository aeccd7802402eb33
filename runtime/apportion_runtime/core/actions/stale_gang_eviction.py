"""Evict stale gangs: those below their minimum for longer than their grace period.

Source: pkg/scheduler/actions/stalegangeviction/stalegangeviction.go.
"""

from __future__ import annotations

from apportion_runtime.core.queue_jobs import in_order
from apportion_runtime.core.session import Session
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES


def evict_stale_gangs(session: Session) -> None:
    """Evict all placed pods of each gang that is stale for longer than its grace period."""
    now = session.now
    unsettled = session.active_jobs.unsettled
    for job in in_order(unsettled.values()):
        if not job.is_stale:
            if job.stale_since is not None:
                job.stale_since = None
                session.active_jobs.changed[job.uid] = job
            del unsettled[job.uid]
            continue
        if job.stale_since is None:
            job.stale_since = now
            session.active_jobs.changed[job.uid] = job
        own = job.group.staleness_grace
        grace = own if own is not None else session.settings.staleness_grace
        if grace < 0 or now - job.stale_since < grace:
            continue
        for task in [task for task in job.tasks.values() if task.status & ACTIVE_ALLOCATED_STATUSES]:
            session.evict(task, ("stalegangeviction", None))

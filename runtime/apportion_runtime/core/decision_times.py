"""The times at which decisions may change by themselves: ends of grace periods, delays and minimum runtimes."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_runtime.core.session import Session


def next_decision_time(session: Session) -> float | None:
    """Return the next time, in seconds since 1970, at which decisions may change without any other change."""
    return min((moment for moment in _moments(session) if moment > session.now), default=None)


def _moments(session: Session) -> Iterator[float]:
    settings = session.settings
    minima = {settings.default_preempt_min_runtime, settings.default_reclaim_min_runtime, *session.shares.min_runtimes}
    minima.discard(0.0)
    for job in session.active_jobs.unsettled.values():
        if job.stale_since is not None:
            own = job.group.staleness_grace
            yield job.stale_since + max(0.0, settings.staleness_grace if own is None else own)
    pending = session.pending_jobs()
    for job in pending:
        if job.group.preemption_delay:
            yield max(job.created, job.last_eviction or 0.0) + job.group.preemption_delay
    if minima and pending:
        for job in session.jobs.values():
            if job.last_start is not None:
                yield from (job.last_start + minimum for minimum in minima)

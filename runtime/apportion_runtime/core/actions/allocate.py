"""Allocate free and releasing resources to pending jobs.

Source: pkg/scheduler/actions/allocate/allocate.go.
"""

from __future__ import annotations

from apportion_runtime.core.allocation import place_job
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.pending_classes import class_outcomes, has_classes, may_be_placed
from apportion_runtime.core.session import Session

_FEW = 2


def allocate(session: Session) -> None:
    """Allocate jobs in order; a job with more pending pods is put back after each step."""
    only = _only_job(session)
    if only is not None:
        _allocate_only(session, only)
        return
    # Trying a few jobs costs less than finding out which of them may be placed. A try that fails changes nothing.
    is_worth_a_check = len(session.active_jobs.pending) > _FEW
    left = class_outcomes(session, "allocate", lambda job: not is_worth_a_check or may_be_placed(session, job))
    jobs_to_report = left.jobs_to_report()
    order = JobOrder(
        session.shares, session.plugins, session.min_device_memory, depth=session.settings.queue_depth.get("allocate")
    )
    if left:
        order.fill(session.ready_jobs())
    while order and left:
        job = order.pop()
        is_reported = jobs_to_report.pop(job.uid, None) is not None
        if not is_reported and job.uid not in left:
            continue
        left.take(job)
        if not _allocate_step(session, job):
            continue
        left.narrow()
        if job.n_pending:
            order.push(job)
            left.put(job)
            if is_reported:
                jobs_to_report[job.uid] = job
    for job in jobs_to_report.values():
        # Nothing changes any more, so the order does not matter.
        place_job(session, session.statement(), session.nodes.all, job, pipeline_only=False)


def _only_job(session: Session) -> Job | None:
    """Return the only pending job if it may be placed."""
    pending = session.active_jobs.pending
    if len(pending) != 1 or not has_classes(session, "allocate"):
        return None
    (job,) = pending.values()
    return job if job.is_ready and session.shares.holds_jobs_of(job.queue) else None


def _allocate_only(session: Session, job: Job) -> None:
    """Allocate the only pending job: without others, neither an order nor classes are needed."""
    active_jobs = session.active_jobs
    unclassified, active_jobs.unclassified = active_jobs.unclassified, {}
    while _allocate_step(session, job):
        if not job.n_pending:
            active_jobs.unclassified = {**unclassified, **active_jobs.unclassified}
            return
    # It is classified with its reasons recorded, unless it changed.
    changed, active_jobs.unclassified = active_jobs.unclassified, unclassified
    session.pending_classes.refresh(session)
    session.pending_classes.take_unreported(session)
    active_jobs.unclassified = changed


def _allocate_step(session: Session, job: Job) -> bool:
    """Allocate the next step of a job, and return whether it was possible."""
    statement = session.statement()
    ran_before = job.n_allocated > 0
    if not place_job(session, statement, session.nodes.all, job, pipeline_only=False):
        statement.discard()
        return False
    pipelined = job.should_pipeline()
    if pipelined:
        statement.pipeline_whole_job(job.uid)
    statement.commit()
    if not pipelined and not ran_before:
        job.last_start = session.now
    return True

"""Allocate free and releasing resources to pending jobs.

Source: pkg/scheduler/actions/allocate/allocate.go.
"""

from __future__ import annotations

from apportion_runtime.core.allocation import place_job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.pending_classes import class_outcomes, may_be_placed
from apportion_runtime.core.session import Session

_FEW = 2


def allocate(session: Session) -> None:
    """Allocate jobs in order; a job with more pending pods is put back after each step."""
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
        statement = session.statement()
        ran_before = job.n_allocated > 0
        if not place_job(session, statement, session.nodes.all, job, pipeline_only=False):
            statement.discard()
            continue
        pipelined = job.should_pipeline()
        if pipelined:
            statement.pipeline_whole_job(job.uid)
        statement.commit()
        if not pipelined and not ran_before:
            job.last_start = session.now
        if any(task.to_allocate(real=True) for task in job.tasks.values()):
            order.push(job)
            left.put(job)
            if is_reported:
                jobs_to_report[job.uid] = job
    for job in jobs_to_report.values():
        # Nothing changes any more, so the order does not matter.
        place_job(session, session.statement(), session.nodes.all, job, pipeline_only=False)

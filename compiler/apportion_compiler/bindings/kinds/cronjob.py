"""batch/v1 CronJob: a Job on a schedule."""

from __future__ import annotations

from apportion_compiler.bindings.defaulted_workload import Work, top_metadata
from apportion_compiler.bindings.kinds.job import job_spec
from apportion_compiler.workload_shapes import Node


def cron_job(work: Work) -> tuple[Node, ...]:
    """Return the CronJob."""
    return (
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": top_metadata(work),
            "spec": {
                "schedule": work.schedule,
                # Otherwise the next run would join one that is still pending in the queue.
                "concurrencyPolicy": "Forbid",
                "jobTemplate": {"spec": job_spec(work, "OnFailure")},
            },
        },
    )

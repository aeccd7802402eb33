"""Job and CronJob: pods that are never created, and runs that accumulate."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.engines.native.rules.fault import Fault, ignored
from apportion_compiler.plain_objects import Manifest, integer, mapping


def job(manifest: Manifest, before: Manifest | None) -> Iterator[Fault]:
    """Yield the faults of a Job."""
    yield from _spec(manifest, "spec")


def cron_job(manifest: Manifest, before: Manifest | None) -> Iterator[Fault]:
    """Yield the faults of a CronJob."""
    yield from _spec(mapping(manifest, "spec", "jobTemplate"), "spec.jobTemplate.spec")


def _spec(holder: object, path: str) -> Iterator[Fault]:
    parallelism, completions = integer(holder, "spec", "parallelism"), integer(holder, "spec", "completions")
    if parallelism is not None and completions is not None and parallelism > completions:
        # The controller creates no more pods than there are missing completions (pkg/controller/job/job_controller.go).
        yield ignored(
            f"{path}.parallelism",
            "MoreThanCompletions",
            f"the Job controller caps the number of parallel pods at {completions}, the value of completions",
            f"set completions: {parallelism} to run {parallelism} pods together, or set parallelism: {completions}",
        )

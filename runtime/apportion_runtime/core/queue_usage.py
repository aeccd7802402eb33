"""What the pods of a job use and request of their queue, and the fractions of devices in it.

The engine adds pod by pod, job by job in the order of a map. Sums of whole devices are exact in any order; fractions of
devices are added one after the other, after them and in the order of jobs and pods, because rounding affects comparisons.

Source: pkg/scheduler/plugins/proportion/proportion.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.resources import GPU, NO_QUANTITIES, Quantities, plus
from apportion_runtime.core.status import ALLOCATED_STATUSES, PENDING
from apportion_runtime.core.task import BY_MEMORY, Task

N_AMOUNTS = 9
"""Amounts counted for a job: allocated, allocated non-preemptible and pending, each as CPU, memory and GPUs."""

_NON_PREEMPTIBLE, _PENDING = 3, 6
"""The first of the three amounts."""
EXACT_PARTS = 1024.0
"""Sums of multiples of one part of a device are exact in any order."""
Row = tuple[float, ...]
"""`N_AMOUNTS` amounts of one job."""
NO_AMOUNTS: Row = (0.0,) * N_AMOUNTS


class Fraction(NamedTuple):
    """The devices of a pod that are not a whole number.

    Attributes:
        gpus: Their number.
        is_allocated: Whether the pod uses them; otherwise it requests them.
        is_non_preemptible: Whether its job is non-preemptible.
    """

    gpus: float
    is_allocated: bool
    is_non_preemptible: bool

    @property
    def is_exact(self) -> bool:
        """Whether sums of such numbers are exact in any order: halves, quarters, …"""
        return (self.gpus * EXACT_PARTS).is_integer()


class JobUsage(NamedTuple):
    """The usage of one job.

    Attributes:
        amounts: `N_AMOUNTS` amounts, without fractions of devices.
        fractions: These, in the order of its pods.
    """

    amounts: tuple[float, ...]
    fractions: tuple[Fraction, ...]


NumberedFractions = tuple[int, tuple[Fraction, ...]]
"""The number of a job in the session's order, and its fractions."""
NO_FRACTIONS: Mapping[str, Sequence[NumberedFractions]] = MappingProxyType({})


def job_usage(job: Job, device_memory: int | None) -> JobUsage:
    """Return a job's usage in its queue.

    Args:
        job: The job.
        device_memory: MiB of the smallest device of the cluster, which requests by memory are converted with.
    """
    held = waiting = NO_QUANTITIES
    fractions: list[Fraction] = []
    for task in job.tasks.values():
        if task.status & ALLOCATED_STATUSES:
            amounts, is_allocated = task.accepted_quantities, True
        elif task.status == PENDING:
            amounts, is_allocated = _requested(task, device_memory), False
        else:
            continue
        if amounts[GPU] != int(amounts[GPU]):
            fractions.append(Fraction(amounts[GPU], is_allocated, is_allocated and not job.preemptible))
            amounts = amounts[0], amounts[1], 0.0
        if is_allocated:
            held = plus(held, amounts)
        else:
            waiting = plus(waiting, amounts)
    return JobUsage((*held, *(NO_QUANTITIES if job.preemptible else held), *waiting), tuple(fractions))


def with_fractions(amounts: tuple[float, ...], fractions: Iterable[Fraction]) -> tuple[float, ...]:
    """Return the amounts of a job with its fractions of devices."""
    totals = list(amounts)
    for gpus, is_allocated, is_non_preemptible in fractions:
        totals[GPU if is_allocated else _PENDING + GPU] += gpus
        if is_non_preemptible:
            totals[_NON_PREEMPTIBLE + GPU] += gpus
    return tuple(totals)


def usage_by_queue(
    jobs: Iterable[Job], device_memory: int | None
) -> tuple[Mapping[str, Sequence[float]], Mapping[str, Sequence[NumberedFractions]]]:
    """Return the amounts of each queue, and the fractions of its jobs in their order."""
    amounts: dict[str, list[float]] = {}
    fractions: dict[str, list[NumberedFractions]] = {}
    for job in jobs:
        usage = job_usage(job, device_memory)
        totals = amounts.setdefault(job.queue, [0.0] * N_AMOUNTS)
        for at, amount in enumerate(usage.amounts):
            totals[at] += amount
        if usage.fractions:
            fractions.setdefault(job.queue, []).append((job.number, usage.fractions))
    return amounts, fractions


def _requested(task: Task, device_memory: int | None) -> Quantities:
    if task.kind != BY_MEMORY:
        return task.quantities
    cpu, memory, gpu = task.quantities
    return cpu, memory, gpu + task.gpu.memory_as_gpus(device_memory)

"""Transformations of a recorded load. Each is a pure function: the same trace and seed give the same trace.

A trace as recorded needs none of them. Weng et al. (USENIX ATC 2023) inflate a trace until the cluster is
full; a trace that asks for little of its cluster is compressed onto a part of its nodes, or its arrivals in time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from apportion_runtime.sim.traces.records import JobEnd, Trace, TraceJob

_FIRST_ARRIVALS = 0.01
_N_HALVINGS = 60
_GREATEST_FACTOR = 1e9


def inflated(trace: Trace, *, load: float = 1.0, every_s: float = 1.0, seed: int | None = None) -> Trace:
    """Return a trace whose jobs are submitted repeatedly and never end, until their requests reach the load.

    Args:
        trace: The recorded load.
        load: The requested share of the nodes' GPUs at the end; above 1, more than exists is requested.
        every_s: Seconds from one arrival to the next.
        seed: None keeps the order of the jobs each time; a number shuffles them again each time.

    Raises:
        ValueError: If there is no GPU, or no job requests one.
    """
    asked = sum(job.all_gpu_milli for job in trace.jobs)
    wanted = load * trace.gpu_milli
    if not asked or not trace.gpu_milli:
        raise ValueError("inflation requires a trace with GPU nodes and jobs that request GPUs")
    chance = None if seed is None else random.Random(seed)  # noqa: S311 -- repeatable chance is what is wanted
    made: list[TraceJob] = []
    so_far, n_turns = 0, 0
    while so_far < wanted:
        n_turns += 1
        for job in _turn(trace.jobs, chance):
            if so_far >= wanted:
                break
            so_far += job.all_gpu_milli
            name = job.name if n_turns == 1 else f"{job.name}-r{n_turns}"
            made.append(replace(job, name=name, arrives_s=len(made) * every_s, stays_s=None, end=JobEnd.OPEN))
    return replace(
        trace, nodes=tuple(replace(node, joins_s=0.0, leaves_s=None) for node in trace.nodes), jobs=tuple(made)
    )


def _turn(jobs: Sequence[TraceJob], chance: random.Random | None) -> Sequence[TraceJob]:
    return jobs if chance is None else chance.sample(jobs, len(jobs))


def compressed_on_nodes(trace: Trace, share: float, *, seed: int = 0) -> Trace:
    """Return a trace on a share of its nodes, with the shapes in proportion (to within one node).

    Args:
        trace: The recorded load.
        share: More than 0, at most 1; one node is left in any case.
        seed: Selects among equivalent nodes, and decides the rounding.

    Raises:
        ValueError: If the share is out of range.
    """
    if not 0 < share <= 1:
        raise ValueError(f"{share:g} is not a fraction of the nodes; use a value greater than 0 and at most 1")
    n_nodes = len(trace.nodes)
    n_left = min(n_nodes, max(1, round(n_nodes * share)))
    chance = random.Random(seed)  # noqa: S311 -- repeatable chance is what is wanted
    order = list(range(n_nodes))
    chance.shuffle(order)
    shapes = [(node.gpu_model, node.gpus, node.cpu_milli, node.memory_mib) for node in trace.nodes]
    order.sort(key=lambda number: shapes[number])
    begin = chance.random()
    left = sorted(order[min(n_nodes - 1, int((begin + i) * n_nodes / n_left))] for i in range(n_left if n_nodes else 0))
    return replace(trace, nodes=tuple(trace.nodes[number] for number in left))


def compressed_in_time(trace: Trace, load: float) -> Trace:
    """Return a trace with arrivals scaled in time until `offered_load` is the requested one; run times are unchanged.

    A load below the recorded one increases the intervals.

    Raises:
        ValueError: If no scaling gives this load.
    """
    least, most = 1 / _GREATEST_FACTOR, _GREATEST_FACTOR
    demand = _demand(trace)
    reach = [_load(demand, factor) for factor in (least, most)]
    if not reach[0] <= load <= reach[1]:
        raise ValueError(
            f"rescaling arrivals can reach a load of {reach[0]:.2g} to {reach[1]:.2g}, but not {load:g}; reduce the number "
            "of nodes first"
        )
    for _ in range(_N_HALVINGS):
        middle = math.sqrt(least * most)
        least, most = (middle, most) if _load(demand, middle) < load else (least, middle)
    return faster(trace, most)


def faster(trace: Trace, factor: float) -> Trace:
    """Return a trace whose arrivals are faster by a factor, as are the nodes that join and leave.

    The durations of jobs are unchanged.

    Raises:
        ValueError: If the factor is not more than 0.
    """
    if not (factor > 0 and math.isfinite(factor)):
        raise ValueError(f"the speed factor must be greater than 0, not {factor:g}")
    first = trace.jobs[0].arrives_s if trace.jobs else 0.0

    def earlier(at_s: float) -> float:
        return first + (at_s - first) / factor

    jobs = (replace(job, arrives_s=earlier(job.arrives_s)) for job in trace.jobs)
    nodes = (
        replace(
            node,
            joins_s=earlier(node.joins_s) if node.joins_s else 0.0,
            leaves_s=None if node.leaves_s is None else earlier(node.leaves_s),
        )
        for node in trace.nodes
    )
    return replace(trace, nodes=tuple(nodes), jobs=tuple(jobs))


def offered_load(trace: Trace) -> float:
    """Return the average GPU demand as a share of the nodes' GPUs, assuming that each job starts on arrival.

    The average covers the time from the arrival of the first 1% of jobs to the last arrival, since a recording may
    begin with a long idle period. A job without an end runs until the last arrival.
    """
    return _load(_demand(trace), 1.0)


def peak_load(trace: Trace) -> float:
    """Return the peak GPU demand as a share of the nodes' GPUs, assuming that each job starts on arrival."""
    if not trace.gpu_milli:
        return 0.0
    changes: dict[float, int] = {}
    for job in trace.jobs:
        changes[job.arrives_s] = changes.get(job.arrives_s, 0) + job.all_gpu_milli
        if job.stays_s is not None:
            end = job.arrives_s + job.stays_s
            changes[end] = changes.get(end, 0) - job.all_gpu_milli
    asked = accumulate(change for _, change in sorted(changes.items()))
    return max(asked, default=0) / trace.gpu_milli


@dataclass(frozen=True, slots=True)
class _Demand:
    """The demand of jobs (thousandths of devices), with times and durations, and the interval of measurement."""

    jobs: tuple[tuple[int, float, float], ...]
    begin: float
    last: float
    gpu_milli: int


def _demand(trace: Trace) -> _Demand:
    arrivals = [job.arrives_s for job in trace.jobs] or [0.0]
    jobs = tuple(
        (job.all_gpu_milli, job.arrives_s, math.inf if job.stays_s is None else job.stays_s) for job in trace.jobs
    )
    return _Demand(jobs, arrivals[int(len(jobs) * _FIRST_ARRIVALS)], arrivals[-1], trace.gpu_milli)


def _load(demand: _Demand, factor: float) -> float:
    begin, last = demand.begin, demand.last
    if last <= begin or not demand.gpu_milli:
        return 0.0
    asked = 0.0
    for gpu_milli, arrives_s, stays_s in demand.jobs:
        # Longer durations give the same share of the time as faster arrivals.
        until = min(arrives_s + stays_s * factor, last)
        since = max(arrives_s, begin)
        if gpu_milli and until > since:
            asked += gpu_milli * (until - since)
    return asked / (demand.gpu_milli * (last - begin))

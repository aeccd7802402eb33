"""A history in numbers: for each queue, and for the cluster. Every report shows these and no others.

Waits are of pod groups: from the start of the wait until the minimum was placed, or until the end of the simulation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from apportion_runtime.sim.history import History, Sample, WorkloadFacts
from apportion_runtime.sim.report.fragmentation import fragmentation
from apportion_runtime.sim.report.steps import area

NOT_ARRIVED = "not arrived"
_HOUR = 3600.0
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """A queue including its descendants.

    `fair_gpu_hours` is its fair share over time, as of each cycle; `share` is its usage as a fraction of that, None if
    it is 0. Waits are in seconds, None without waits.
    """

    name: str
    parent: str | None
    gpu_hours: float
    fair_gpu_hours: float
    share: float | None
    n_groups: int
    n_waiting: int
    wait_p50_s: float | None
    wait_p90_s: float | None
    wait_p99_s: float | None
    n_evicted_pods: int
    n_evictions: int
    lost_gpu_hours: float


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """The GPUs of one model: those of the nodes over time, and their allocation to pods."""

    model: str
    """Empty if the nodes do not declare it."""
    gpu_hours: float
    capacity_gpu_hours: float
    utilisation: float


@dataclass(frozen=True, slots=True)
class Summary:
    """A simulation.

    `utilisation` is the allocated fraction of the GPU time, `fragmentation` the fraction of the free GPU time that a
    pod of this load could not have used; `makespan_s` is from the first arrival to the last end.
    """

    duration_s: float
    n_workloads: int
    outcomes: Mapping[str, int]
    n_cycles: int
    gpu_hours: float
    capacity_gpu_hours: float
    utilisation: float
    fragmentation: float | None
    makespan_s: float
    n_evictions: int
    lost_gpu_hours: float
    models: tuple[ModelSummary, ...]
    queues: tuple[QueueSummary, ...]


def summarise(history: History) -> Summary:
    """Return the numbers of a history that has ended."""
    workloads = history.workloads
    outcomes: dict[str, int] = {}
    for facts in workloads:
        outcome = outcome_of(facts, history.ended_s)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    used = sum(stay.gpus * (stay.until_s - stay.since_s) for stay in history.stays) / _HOUR
    capacity = area(history.capacity, history.ended_s) / _HOUR
    unusable = fragmentation(history)
    ends = [facts.finished_s for facts in workloads if facts.finished_s is not None and facts.started_s is not None]
    first = min((facts.arrived_s for facts in workloads), default=0.0)
    return Summary(
        duration_s=history.ended_s,
        n_workloads=len(workloads),
        outcomes=dict(sorted(outcomes.items())),
        n_cycles=history.n_cycles,
        gpu_hours=_rounded(used),
        capacity_gpu_hours=_rounded(capacity),
        utilisation=_rounded(used / capacity) if capacity else 0.0,
        fragmentation=None if unusable is None else _rounded(unusable),
        makespan_s=_rounded(max(ends, default=first) - first),
        n_evictions=len({(taken.at_s, taken.workload) for taken in history.taken}),
        lost_gpu_hours=_rounded(sum(facts.lost_gpu_s for facts in workloads) / _HOUR),
        models=tuple(_models(history)),
        queues=tuple(_queues(history)),
    )


def outcome_of(facts: WorkloadFacts, ended_s: float) -> str:
    """Return the state of a workload at the end, which an interruption may have caused before its arrival."""
    return facts.outcome or ("unfinished" if facts.arrived_s <= ended_s else NOT_ARRIVED)


def _models(history: History) -> Iterable[ModelSummary]:
    used: dict[str, float] = {}
    held: dict[str, float] = {}
    for node, sizes in history.machines.items():
        model = history.models.get(node, "")
        held[model] = held.get(model, 0.0) + area(sizes, history.ended_s) / _HOUR
    for stay in history.stays:
        if stay.gpus:
            model = history.models.get(stay.node, "")
            used[model] = used.get(model, 0.0) + stay.gpus * (stay.until_s - stay.since_s) / _HOUR
    for model in sorted(held):
        hours = used.get(model, 0.0)
        yield ModelSummary(
            model, _rounded(hours), _rounded(held[model]), _rounded(hours / held[model]) if held[model] else 0.0
        )


def _queues(history: History) -> Iterable[QueueSummary]:
    paths = {name: upwards(name, history.parents) for name in history.parents}
    used = dict.fromkeys(paths, 0.0)
    waits: dict[str, list[float]] = {name: [] for name in paths}
    counts: dict[str, list[float]] = {name: [0, 0, 0, 0] for name in paths}
    gangs: set[tuple[float, int]] = set()
    for stay in history.stays:
        for name in paths.get(stay.queue, ()):
            used[name] += stay.gpus * (stay.until_s - stay.since_s) / _HOUR
    for wait in history.waits:
        for name in paths.get(wait.queue, ()):
            waits[name].append((history.ended_s if wait.until_s is None else wait.until_s) - wait.since_s)
            counts[name][0] += wait.until_s is None
    for taken in history.taken:
        is_first = (taken.at_s, taken.workload) not in gangs
        gangs.add((taken.at_s, taken.workload))
        for name in paths.get(taken.queue, ()):
            counts[name][1] += 1
            counts[name][2] += is_first
    for facts in history.workloads:
        for name in paths.get(facts.queue, ()):
            counts[name][3] += facts.lost_gpu_s / _HOUR
    for name, parent in history.parents.items():
        fair = _fair(history.samples.get(name, ()), history.ended_s) / _HOUR
        n_waiting, n_pods, n_evictions, lost = counts[name]
        lasted = sorted(waits[name])
        yield QueueSummary(
            name, parent, _rounded(used[name]), _rounded(fair), _rounded(used[name] / fair) if fair > 0 else None,
            len(lasted), int(n_waiting), percentile(lasted, 50), percentile(lasted, 90), percentile(lasted, 99),
            int(n_pods), int(n_evictions), _rounded(lost),
        )  # fmt: skip


def upwards(name: str, parents: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return a queue and its ancestors; empty if the queue does not exist."""
    found: list[str] = []
    at: str | None = name
    while at is not None and at in parents and at not in found:
        found.append(at)
        at = parents[at]
    return tuple(found)


def _fair(samples: Sequence[Sample], until_s: float) -> float:
    return area([(sample.at_s, sample.fair) for sample in samples], until_s)


def percentile(lasted: Sequence[float], percent: int) -> float | None:
    """Return the value that a percentage of sorted values do not exceed; None without values."""
    if not lasted:
        return None
    return _rounded(lasted[max(0, math.ceil(len(lasted) * percent / 100) - 1)])


def _rounded(value: float) -> float:
    return round(value, _DIGITS)

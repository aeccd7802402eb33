"""The report of a simulation: every number in any output format.

The terminal, JSON, the HTML page and outcome tests only read this object.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from apportion_runtime.sim.history import History, PodStay, Sample
from apportion_runtime.sim.report.steps import Steps, highest, stacked
from apportion_runtime.sim.report.summary import Summary, outcome_of, summarise, upwards

WAIT_BOUNDS_S = (0.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0)
"""The upper bounds of the wait histogram; the last bucket is unbounded."""
_HOUR = 3600.0
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class QueueSeries:
    """A queue's GPUs over time, including its descendants; a `quota` of -1 is unlimited."""

    queue: str
    allocated: Steps
    fair_share: Steps
    quota: Steps
    requested: Steps


@dataclass(frozen=True, slots=True)
class WorkloadReport:
    """One workload.

    `gpus` is its request on arrival, `most_gpus` its peak allocation. `runs` are the intervals in which it had pods on
    nodes. `waits` are those in which one of its pod groups waited for its minimum, with the end None if it never got
    it, and `waited_s` is their sum. `evicted_s` are the times of its evictions.
    """

    name: str
    namespace: str
    kind: str
    queue: str
    gpus: float
    most_gpus: float
    arrived_s: float
    started_s: float | None
    finished_s: float | None
    outcome: str
    runs: tuple[tuple[float, float], ...]
    waits: tuple[tuple[float, float | None], ...]
    evicted_s: tuple[float, ...]
    n_evictions: int
    waited_s: float
    lost_gpu_hours: float
    why_waiting: str
    why_waited: str


@dataclass(frozen=True, slots=True)
class Preemption:
    """The evictions of one queue for another: the gangs, their pods, and the GPUs of the pods."""

    by: str
    """The beneficiary queue; empty if there is none, as when a gang lost its minimum."""
    queue: str
    n_evictions: int
    n_pods: int
    gpus: float


@dataclass(frozen=True, slots=True)
class QueueWaits:
    """The wait histogram of a queue: the number of waits in each bucket of `WAIT_BOUNDS_S`, and beyond the last."""

    queue: str
    counts: tuple[int, ...]


class Placement(NamedTuple):
    """A pod's time on a node: its devices, including fractions, and the groups of its shared devices."""

    pod: str
    workload: str
    namespace: str
    queue: str
    node: str
    gpus: float
    gpu_groups: tuple[str, ...]
    since_s: float
    until_s: float
    ended_by: str

    def document(self) -> dict[str, Any]:
        """Return the placement as JSON data."""
        return dict(zip(self._fields, self, strict=True))


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input of a simulation.

    `digest` is the SHA-256 of the compiled objects of the policy: equal digests mean equal policies. `scenario`
    is the file of the load.
    """

    policy: str = ""
    environment: str = ""
    cluster: str = ""
    engine: str = ""
    digest: str = ""
    scenario: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A simulation: `start` is its start time, in seconds since 1970; all other times are relative to it."""

    name: str
    inputs: Inputs
    start: float
    summary: Summary
    capacity: Steps
    series: tuple[QueueSeries, ...]
    waits: tuple[QueueWaits, ...]
    preemptions: tuple[Preemption, ...]
    workloads: tuple[WorkloadReport, ...]
    placements: tuple[Placement, ...]

    def document(self) -> dict[str, Any]:
        """Return the report as JSON data, with the summary's numbers at the top level."""
        found = {"apiVersion": "apportion.dev/v1", "kind": "SimulationReport", "name": self.name, "start": self.start}
        placements = [placement.document() for placement in self.placements]
        rest = asdict(replace(self, placements=()))
        for key in ("name", "start", "summary", "placements"):
            del rest[key]
        return {**found, **asdict(self.summary), "wait_bounds_s": WAIT_BOUNDS_S, **rest, "placements": placements}


def build_report(history: History, name: str, start: float, inputs: Inputs | None = None) -> Report:
    """Return the report of a history that has ended."""
    queues = tuple(history.parents)
    return Report(
        name=name or "simulation",
        inputs=inputs or Inputs(),
        start=start,
        summary=summarise(history),
        capacity=tuple(history.capacity),
        series=tuple(_series(history, queues)),
        waits=tuple(_waits(history, queues)),
        preemptions=tuple(_preemptions(history)),
        workloads=tuple(_workloads(history)),
        placements=tuple(_placements(history)),
    )


def _series(history: History, queues: Iterable[str]) -> Iterable[QueueSeries]:
    held: dict[str, list[tuple[float, float, float]]] = {name: [] for name in queues}
    for stay in history.stays:
        if stay.gpus:
            for name in upwards(stay.queue, history.parents):
                held[name].append((stay.since_s, stay.until_s, stay.gpus))
    for name, spans in held.items():
        samples = history.samples.get(name, ())
        yield QueueSeries(
            name, stacked(spans), _of(samples, "fair"), _of(samples, "quota"), _of(samples, "requested")
        )  # fmt: skip


def _of(samples: Sequence[Sample], field: str) -> Steps:
    found: list[tuple[float, float]] = []
    for sample in samples:
        value = round(getattr(sample, field), _DIGITS)
        if not found or found[-1][1] != value:
            found.append((sample.at_s, value))
    return found


def _waits(history: History, queues: Iterable[str]) -> Iterable[QueueWaits]:
    counts = {name: [0] * (len(WAIT_BOUNDS_S) + 1) for name in queues}
    for wait in history.waits:
        lasted = (history.ended_s if wait.until_s is None else wait.until_s) - wait.since_s
        for name in upwards(wait.queue, history.parents):
            counts[name][bisect_left(WAIT_BOUNDS_S, lasted)] += 1
    return (QueueWaits(name, tuple(found)) for name, found in counts.items())


def _preemptions(history: History) -> Iterable[Preemption]:
    pods: dict[tuple[str, str], int] = {}
    gpus: dict[tuple[str, str], float] = {}
    gangs: dict[tuple[str, str], set[tuple[float, int]]] = {}
    for taken in history.taken:
        key = (taken.for_queue, taken.queue)
        pods[key] = pods.get(key, 0) + 1
        gpus[key] = gpus.get(key, 0.0) + taken.gpus
        gangs.setdefault(key, set()).add((taken.at_s, taken.workload))
    for key in sorted(pods):
        yield Preemption(*key, len(gangs[key]), pods[key], round(gpus[key], _DIGITS))


def _placements(history: History) -> Iterable[Placement]:
    for stay in sorted(history.stays, key=lambda stay: (stay.since_s, stay.workload, stay.pod)):
        facts = history.workloads[stay.workload]
        yield Placement(
            stay.pod, facts.name, facts.namespace, stay.queue, stay.node, stay.gpus, stay.devices, stay.since_s,
            stay.until_s, stay.ended_by,
        )  # fmt: skip


def _workloads(history: History) -> Iterable[WorkloadReport]:
    stays: dict[int, list[PodStay]] = {}
    waits: dict[int, list[tuple[float, float | None]]] = {}
    evicted: dict[int, dict[float, None]] = {}
    for stay in history.stays:
        stays.setdefault(stay.workload, []).append(stay)
    for wait in history.waits:
        if wait.until_s is None or wait.until_s > wait.since_s:
            waits.setdefault(wait.workload, []).append((wait.since_s, wait.until_s))
    for taken in history.taken:
        evicted.setdefault(taken.workload, {})[taken.at_s] = None
    for facts in history.workloads:
        own = stays.get(facts.number, [])
        held = stacked((stay.since_s, stay.until_s, stay.gpus) for stay in own)
        yield WorkloadReport(
            name=facts.name,
            namespace=facts.namespace,
            kind=facts.kind,
            queue=facts.queue,
            gpus=facts.gpus,
            most_gpus=highest(held),
            arrived_s=facts.arrived_s,
            started_s=facts.started_s,
            finished_s=facts.finished_s,
            outcome=outcome_of(facts, history.ended_s),
            runs=_united((stay.since_s, stay.until_s) for stay in own),
            waits=tuple(sorted(waits.get(facts.number, ()), key=lambda wait: wait[0])),
            evicted_s=tuple(evicted.get(facts.number, ())),
            n_evictions=len(evicted.get(facts.number, ())),
            waited_s=round(
                sum((history.ended_s if end is None else end) - since for since, end in waits.get(facts.number, ())),
                _DIGITS,
            ),
            lost_gpu_hours=round(facts.lost_gpu_s / _HOUR, _DIGITS),
            why_waiting=facts.why_waiting,
            why_waited=facts.why_waited,
        )


def _united(spans: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    found: list[tuple[float, float]] = []
    for since, until in sorted(spans):
        if found and since <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        else:
            found.append((since, until))
    return tuple(found)

"""The history of a simulation: facts in order of time, and the aggregates for reports.

Times are seconds since the start of the simulation; GPUs are devices, including fractions of shared ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

ENDED_BY_EVICTION = "evicted"
ENDED_BY_SUCCESS = "succeeded"
ENDED_BY_FAILURE = "failed"
ENDED_BY_NODE = "node-lost"
ENDED_BY_DELETION = "deleted"


class Fact(NamedTuple):
    """A fact; fields that do not apply are empty."""

    at_s: float
    what: str
    workload: str = ""
    queue: str = ""
    pod: str = ""
    node: str = ""
    by: str = ""
    why: str = ""
    gpus: float = 0.0
    gpu_groups: tuple[str, ...] = ()
    """Shared devices allocated to a pod, by the names of their groups."""

    def because(self, why: str) -> Fact:
        """Return the fact with another reason."""
        return self._replace(why=why)

    def document(self) -> dict[str, Any]:
        """Return the fact as JSON data, without empty fields."""
        return {key: value for key, value in zip(self._fields, self, strict=True) if value or key == "at_s"}


class PodStay(NamedTuple):
    """A pod's time on a node."""

    pod: str
    workload: int
    queue: str
    node: str
    gpus: float
    cpu: float
    since_s: float
    until_s: float
    ended_by: str
    """One of the constants above; empty if the simulation ended first."""
    devices: tuple[str, ...] = ()
    """Devices of which it has a fraction; empty if it has whole devices or none."""


class GroupWait(NamedTuple):
    """The wait of a pod group until its minimum was placed; `until_s` is None while it waits."""

    group: str
    workload: int
    queue: str
    since_s: float
    until_s: float | None


class EvictionFact(NamedTuple):
    """An eviction: the workload, the action, the beneficiary, and the rule of the engine."""

    at_s: float
    pod: str
    workload: int
    queue: str
    node: str
    gpus: float
    action: str
    for_group: str
    for_workload: int
    """-1 without a beneficiary."""
    for_queue: str
    rule: str
    message: str


class Sample(NamedTuple):
    """A queue's GPUs after a cycle; -1 is unlimited."""

    at_s: float
    allocated: float
    fair: float
    quota: float
    requested: float


@dataclass(slots=True)
class WorkloadFacts:
    """One workload from end to end."""

    number: int
    name: str
    kind: str
    namespace: str
    arrived_s: float
    queue: str = ""
    gpus: float = 0.0
    """The total GPUs requested by its pods on arrival."""
    started_s: float | None = None
    finished_s: float | None = None
    outcome: str = ""
    """succeeded, failed, deleted, lost, refused; empty while it exists."""
    n_evictions: int = 0
    lost_gpu_s: float = 0.0
    why_waiting: str = ""
    why_waited: str = ""
    """The last reason for waiting before it was placed."""

    def end_waiting(self) -> None:
        """Keep the current reason for waiting, if any."""
        self.why_waited = self.why_waiting or self.why_waited
        self.why_waiting = ""


@dataclass(slots=True)
class _Open:
    workload: int
    queue: str
    node: str
    gpus: float
    cpu: float
    since_s: float
    devices: tuple[str, ...]


@dataclass(slots=True)
class History:
    """Everything that reports are computed from."""

    keeps_facts: bool = True
    facts: list[Fact] = field(default_factory=list)
    workloads: list[WorkloadFacts] = field(default_factory=list)
    stays: list[PodStay] = field(default_factory=list)
    waits: list[GroupWait] = field(default_factory=list)
    taken: list[EvictionFact] = field(default_factory=list)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    capacity: list[tuple[float, float]] = field(default_factory=list)
    """Total GPUs of ready nodes over time."""
    machines: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """The same for each node with GPUs."""
    models: dict[str, str] = field(default_factory=dict)
    """The GPU model of each node with a model label."""
    parents: dict[str, str | None] = field(default_factory=dict)
    """The parent of each queue."""
    missed_events: list[str] = field(default_factory=list)
    """Events of the scenario whose object did not exist, with their times."""
    n_cycles: int = 0
    ended_s: float = 0.0
    _open: dict[str, _Open] = field(default_factory=dict)
    _waiting: dict[str, tuple[int, str, float]] = field(default_factory=dict)

    def note(self, fact: Fact) -> None:
        """Record a fact."""
        if self.keeps_facts:
            self.facts.append(fact)

    def amend(self, number: int | None, at_s: float, why: str) -> None:
        """Replace the reason of a fact, by its number, if it is kept and of this time."""
        if number is not None and number < len(self.facts) and self.facts[number].at_s == at_s:
            self.facts[number] = self.facts[number].because(why)

    def begin_stay(
        self,
        pod: str,
        workload: int,
        node: str,
        *,
        gpus: float,
        cpu: float,
        at_s: float,
        devices: tuple[str, ...] = (),
    ) -> None:
        """Record that a pod was placed."""
        self._open[pod] = _Open(workload, self.workloads[workload].queue, node, gpus, cpu, at_s, devices)

    def end_stay(self, pod: str, at_s: float, ended_by: str) -> None:
        """Record that a pod left its node; ignore a pod without a node."""
        begun = self._open.pop(pod, None)
        if begun is not None:
            self.stays.append(
                PodStay(
                    pod, begun.workload, begun.queue, begun.node, begun.gpus, begun.cpu, begun.since_s, at_s, ended_by,
                    begun.devices,
                )
            )  # fmt: skip

    def is_waiting(self, group: str) -> bool:
        """Return whether the wait of a pod group is being recorded."""
        return group in self._waiting

    def begin_wait(self, group: str, workload: int, queue: str, at_s: float) -> None:
        """Record that a pod group starts to wait, unless it already waits."""
        self._waiting.setdefault(group, (workload, queue, at_s))

    def end_wait(self, group: str, at_s: float) -> bool:
        """End the wait of a pod group; return whether it was waiting."""
        waited = self._waiting.pop(group, None)
        if waited is None:
            return False
        workload, queue, since = waited
        self.waits.append(GroupWait(group, workload, queue, since, at_s))
        return True

    def drop_wait(self, group: str) -> None:
        """Remove the wait of a pod group that is gone without having run."""
        waited = self._waiting.pop(group, None)
        if waited is not None:
            workload, queue, since = waited
            self.waits.append(GroupWait(group, workload, queue, since, None))

    def open_waits(self) -> Iterator[tuple[str, float]]:
        """Yield the queue of each pod group that waits, and since when."""
        for _, queue, since_s in self._waiting.values():
            yield queue, since_s

    def sample(self, queue: str, sample: Sample) -> None:
        """Record a queue's sample if it changed."""
        known = self.samples.setdefault(queue, [])
        if not known or known[-1][1:] != sample[1:]:
            known.append(sample)

    def set_capacity(self, gpus: float, at_s: float) -> None:
        """Record the GPUs of the cluster if they changed."""
        if not self.capacity or self.capacity[-1][1] != gpus:
            self.capacity.append((at_s, gpus))

    def set_machine(self, node: str, gpus: float, at_s: float) -> None:
        """Record the GPUs of a schedulable node if they changed."""
        known = self.machines.get(node)
        if (known[-1][1] if known else 0.0) != gpus:
            self.machines.setdefault(node, []).append((at_s, gpus))

    def end(self, at_s: float) -> None:
        """Close open intervals."""
        self.ended_s = at_s
        for pod in list(self._open):
            self.end_stay(pod, at_s, "")
        for group in list(self._waiting):
            self.drop_wait(group)

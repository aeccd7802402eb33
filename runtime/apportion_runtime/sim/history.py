"""What happened, as facts in the order of time, and what reports reckon with, kept as it happens.

Times are seconds since the simulation began; GPUs are devices, parts of shared ones count.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

ENDED_BY_EVICTION = "evicted"
ENDED_BY_SUCCESS = "succeeded"
ENDED_BY_FAILURE = "failed"
ENDED_BY_NODE = "node-lost"
ENDED_BY_DELETION = "deleted"


class Fact(NamedTuple):
    """One thing that happened; what does not apply is empty."""

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
    """Shared devices that a pod got a part of, by the names of their groups."""

    def document(self) -> dict[str, Any]:
        """Return it for JSON, without what is empty."""
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
    """One of the constants above; empty where the simulation ended first."""
    devices: tuple[str, ...] = ()
    """Devices of which it has a part; empty where it has whole ones, or none."""


class GroupWait(NamedTuple):
    """A pod group's time from wanting to run until its minimum had places; `until_s` None where it still waits."""

    group: str
    workload: int
    queue: str
    since_s: float
    until_s: float | None


class EvictionFact(NamedTuple):
    """An eviction: whose pod, by which action, for whom, and by which rule of the engine."""

    at_s: float
    pod: str
    workload: int
    queue: str
    node: str
    gpus: float
    action: str
    for_group: str
    for_workload: int
    """-1 where nobody gets the place."""
    for_queue: str
    rule: str
    message: str


class Sample(NamedTuple):
    """A queue's GPUs after a cycle; -1 is no bound."""

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
    """What its pods asked for together when it came."""
    started_s: float | None = None
    finished_s: float | None = None
    outcome: str = ""
    """succeeded, failed, deleted, lost, refused; empty while it is there."""
    n_evictions: int = 0
    lost_gpu_s: float = 0.0
    why_waiting: str = ""
    why_waited: str = ""
    """What it waited for last before it got its places."""

    def end_waiting(self) -> None:
        """Keep the reason for which it waited until now, if there was one."""
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
    """Everything that reports reckon with."""

    keeps_facts: bool = True
    facts: list[Fact] = field(default_factory=list)
    workloads: list[WorkloadFacts] = field(default_factory=list)
    stays: list[PodStay] = field(default_factory=list)
    waits: list[GroupWait] = field(default_factory=list)
    taken: list[EvictionFact] = field(default_factory=list)
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    capacity: list[tuple[float, float]] = field(default_factory=list)
    """GPUs of the nodes that are ready, whenever that changes."""
    machines: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """The same of each node that has any."""
    models: dict[str, str] = field(default_factory=dict)
    """The GPU model of each node that names one."""
    parents: dict[str, str | None] = field(default_factory=dict)
    """The queues there are, and of each the one above."""
    missed_events: list[str] = field(default_factory=list)
    """Events of the scenario that named nothing that was there, with their moments."""
    n_cycles: int = 0
    ended_s: float = 0.0
    _open: dict[str, _Open] = field(default_factory=dict)
    _waiting: dict[str, tuple[int, str, float]] = field(default_factory=dict)

    def note(self, fact: Fact) -> None:
        """Note a fact."""
        if self.keeps_facts:
            self.facts.append(fact)

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
        """A pod was given a place."""
        self._open[pod] = _Open(workload, self.workloads[workload].queue, node, gpus, cpu, at_s, devices)

    def end_stay(self, pod: str, at_s: float, ended_by: str) -> None:
        """A pod left its place; one that had none is passed over."""
        begun = self._open.pop(pod, None)
        if begun is not None:
            self.stays.append(
                PodStay(
                    pod, begun.workload, begun.queue, begun.node, begun.gpus, begun.cpu, begun.since_s, at_s, ended_by,
                    begun.devices,
                )
            )  # fmt: skip

    def begin_wait(self, group: str, workload: int, queue: str, at_s: float) -> None:
        """A pod group wants to run; one that waits already goes on waiting."""
        self._waiting.setdefault(group, (workload, queue, at_s))

    def end_wait(self, group: str, at_s: float) -> bool:
        """A pod group has its minimum, or is gone; tell whether it had waited."""
        waited = self._waiting.pop(group, None)
        if waited is None:
            return False
        workload, queue, since = waited
        self.waits.append(GroupWait(group, workload, queue, since, at_s))
        return True

    def drop_wait(self, group: str) -> None:
        """A pod group that waited is gone without having run."""
        waited = self._waiting.pop(group, None)
        if waited is not None:
            workload, queue, since = waited
            self.waits.append(GroupWait(group, workload, queue, since, None))

    def sample(self, queue: str, sample: Sample) -> None:
        """Note a queue's numbers, where they changed."""
        known = self.samples.setdefault(queue, [])
        if not known or known[-1][1:] != sample[1:]:
            known.append(sample)

    def set_capacity(self, gpus: float, at_s: float) -> None:
        """Note the GPUs of the cluster, where they changed."""
        if not self.capacity or self.capacity[-1][1] != gpus:
            self.capacity.append((at_s, gpus))

    def set_machine(self, node: str, gpus: float, at_s: float) -> None:
        """Note the GPUs of a node that takes pods, where they changed."""
        known = self.machines.get(node)
        if (known[-1][1] if known else 0.0) != gpus:
            self.machines.setdefault(node, []).append((at_s, gpus))

    def end(self, at_s: float) -> None:
        """Close what is open."""
        self.ended_s = at_s
        for pod in list(self._open):
            self.end_stay(pod, at_s, "")
        for group in list(self._waiting):
            self.drop_wait(group)

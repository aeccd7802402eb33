"""The fill level of a cluster with a simple rule that places each job once: a baseline for schedulers.

Weng et al. (USENIX ATC 2023) inflate a trace until the cluster is full and compare the part of the GPUs that was
allocated. Queues, priorities and gangs are ignored: a job that does not fit is skipped.

Source: the rules are those of the paper's baselines; a node has room if its CPU and memory suffice, its model is one
that the job accepts, and its devices have the requested fractions. A fraction goes to the fullest device on which it
fits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from apportion_runtime.sim.history import PodStay
from apportion_runtime.sim.traces.records import Trace, TraceJob

_WHOLE = 1000
_Vector = npt.NDArray[np.float64]


class Rule(Enum):
    """The choice among the nodes with room for a job."""

    BEST_FIT = "best-fit"
    """The node with the least left."""
    SPREAD = "spread"
    """The node with the most left."""
    RANDOM_FIT = "random-fit"
    """Any."""


@dataclass(frozen=True, slots=True)
class Packing:
    """The result of packing.

    Attributes:
        n_placed: Number of placed jobs.
        n_jobs: Number of all jobs.
        allocated: Fraction of the GPUs that is allocated.
        fragmentation: Fraction of the free GPUs that a random job of the trace could not use.
    """

    n_placed: int
    n_jobs: int
    allocated: float
    fragmentation: float


def pack(trace: Trace, rule: Rule, *, seed: int = 0) -> Packing:
    """Place the jobs of a trace in their order, each once.

    Args:
        trace: The load; run times are ignored.
        rule: The placement rule.
        seed: Seed of the rule that chooses nodes at random.

    Raises:
        ValueError: If there is no GPU, or a job has several pods.
    """
    if not trace.gpu_milli:
        raise ValueError("packing requires a cluster with GPUs")
    if any(job.n_pods != 1 for job in trace.jobs):
        raise ValueError("packing supports only jobs with a single pod")
    nodes = _Nodes(trace)
    chance = random.Random(seed)  # noqa: S311 -- deterministic by design
    choose: Callable[[_Vector, npt.NDArray[np.intp]], int] = {
        Rule.BEST_FIT: lambda left, fitting: int(fitting[left[fitting].argmin()]),
        Rule.SPREAD: lambda left, fitting: int(fitting[left[fitting].argmax()]),
        Rule.RANDOM_FIT: lambda left, fitting: int(chance.choice(fitting)),
    }[rule]
    n_placed = 0
    for job in trace.jobs:
        fitting = np.flatnonzero(nodes.has_room(job))
        if len(fitting):
            nodes.place(job, choose(nodes.left(), fitting))
            n_placed += 1
    return Packing(n_placed, len(trace.jobs), nodes.allocated(), nodes.fragmentation(trace))


def packed(trace: Trace, stays: Iterable[PodStay]) -> Packing:
    """Return the result of a simulation of the trace, from the pods on the nodes at its end.

    Args:
        trace: The only simulated load.
        stays: The stays of the history; ended ones are ignored.
    """
    nodes = _Nodes(trace)
    numbers = {node.name: i for i, node in enumerate(trace.nodes)}
    shared: dict[tuple[int, str], int] = {}
    n_placed = 0
    for stay in stays:
        if stay.ended_by:
            continue
        job, i = trace.jobs[stay.workload], numbers[stay.node]
        n_placed += 1
        if not stay.devices:
            nodes.place(job, i)
            continue
        nodes.charge(job, i)
        for device in stay.devices:
            shared[i, device] = shared.get((i, device), 0) + job.gpu_milli
    for (i, _), milli in shared.items():
        nodes.devices[i, nodes.devices[i].argmax()] -= milli
    return Packing(n_placed, len(trace.jobs), nodes.allocated(), nodes.fragmentation(trace))


class _Nodes:
    """The free amounts of each node: CPU, memory, and thousandths of each device; a missing device has none."""

    def __init__(self, trace: Trace) -> None:
        nodes = trace.nodes
        self.cpu = np.array([node.cpu_milli for node in nodes], dtype=float)
        self.memory = np.array([node.memory_mib for node in nodes], dtype=float)
        widest = max(node.gpus for node in nodes)
        self.devices = np.zeros((len(nodes), widest), dtype=np.int64)
        for i, node in enumerate(nodes):
            self.devices[i, : node.gpus] = _WHOLE
        self._total = self.devices.sum()
        amounts = np.array([self.cpu, self.memory, self.devices.sum(axis=1)])
        self._largest = np.maximum(amounts.max(axis=1, keepdims=True), 1.0)
        self._models = np.array([node.gpu_model for node in nodes])

    def has_room(self, job: TraceJob) -> npt.NDArray[np.bool_]:
        """Return on which nodes a job has room."""
        room: npt.NDArray[np.bool_] = (self.cpu >= job.cpu_milli) & (self.memory >= job.memory_mib)
        if job.gpus:
            room &= (self.devices >= job.gpu_milli).sum(axis=1) >= job.gpus
        if job.gpu_models:
            room &= np.isin(self._models, job.gpu_models)
        return room

    def left(self) -> _Vector:
        """Return what is left on each node: the mean of CPU, memory and GPUs, as fractions of the largest node."""
        free = np.array([self.cpu, self.memory, self.devices.sum(axis=1)])
        made: _Vector = (free / self._largest).mean(axis=0)
        return made

    def place(self, job: TraceJob, i: int) -> None:
        """Place a job on a node, on the fullest devices on which it fits."""
        self.charge(job, i)
        row = self.devices[i]
        fitting = np.flatnonzero(row >= job.gpu_milli)
        row[fitting[np.argsort(row[fitting], kind="stable")[: job.gpus]]] -= job.gpu_milli

    def charge(self, job: TraceJob, i: int) -> None:
        """Subtract a job's CPU and memory."""
        self.cpu[i] -= job.cpu_milli
        self.memory[i] -= job.memory_mib

    def allocated(self) -> float:
        """Return the allocated fraction of the GPUs."""
        return float(1 - self.devices.sum() / self._total)

    def fragmentation(self, trace: Trace) -> float:
        """Return the fraction of free resources that a random job could not use; 0 if nothing is free.

        On a node without room for the job, these are all free devices; on other nodes, the remainders of devices that
        are smaller than its request per device.
        """
        free = self.devices.sum(axis=1)
        if not free.sum():
            return 0.0
        counted: dict[TraceJob, int] = {}
        for job in trace.jobs:
            shape = _shape_of(job)
            counted[shape] = counted.get(shape, 0) + 1
        unusable = 0.0
        for shape, count in counted.items():
            room = self.has_room(shape)
            rests = np.where(self.devices < shape.gpu_milli, self.devices, 0).sum(axis=1) if shape.gpus else free
            unusable += count * float(np.where(room, rests, free).sum())
        return unusable / len(trace.jobs) / float(free.sum())


def _shape_of(job: TraceJob) -> TraceJob:
    """Return the key of jobs that fit on the same nodes."""
    return TraceJob(
        "", "", 0, "", "", job.cpu_milli, job.memory_mib, job.gpus, job.gpu_milli, job.gpu_models
    )  # fmt: skip

"""Why no node fits a pod: the number of nodes by reason, each counted once by its first reason.

The order is: reasons that no eviction changes, insufficient resources, reasons that depend on running pods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from apportion_runtime.core.explain import node_reasons
from apportion_runtime.core.node_fit import fits
from apportion_runtime.core.nodes import Indices, Mask
from apportion_runtime.core.plugins.gpu_choice import choose_devices
from apportion_runtime.core.plugins.predicates import kind_mismatch, tolerated
from apportion_runtime.core.resources import CPU, GPU, MEMORY, PODS, is_mig
from apportion_runtime.core.session import Session
from apportion_runtime.core.task import Task

NOT_READY, TAINT, SELECTOR, KIND, MEMORY_UNKNOWN = "not-ready", "taint", "selector", "kind", "memory-unknown"
GPUS, QUEUE, PORTS, CLAIMS, NUMA, DEVICE = "gpus", "queue", "ports", "claims", "numa", "device"
AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY_UNMET, ROOM = (
    "affinity",
    "anti-affinity",
    "existing-anti-affinity",
    "room",
)
UNCHANGEABLE = frozenset((NOT_READY, TAINT, SELECTOR, KIND, MEMORY_UNKNOWN))
"""Reasons that no eviction changes."""

_TEXTS = {
    NOT_READY: "are cordoned or not ready",
    TAINT: "have a taint that the pod does not tolerate",
    SELECTOR: "do not match the pod's node selector or node affinity",
    KIND: "have GPUs of a different kind (MIG, shared or claimed)",
    MEMORY_UNKNOWN: "do not report GPU memory",
    GPUS: "lack GPUs",
    "cpu": "lack CPU",
    "memory": "lack memory",
    "pods": "run the maximum number of pods",
    QUEUE: "would push the pod's queue over its limit",
    PORTS: "have a host port conflict",
    AFFINITY: "do not match the pod's affinity rules",
    ANTI_AFFINITY: "do not match the pod's anti-affinity rules",
    EXISTING_ANTI_AFFINITY_UNMET: "run pods whose anti-affinity rules exclude the pod",
    CLAIMS: "cannot satisfy the pod's resource claims",
    NUMA: "cannot NUMA-align the pod's resources",
    DEVICE: "have no GPU with enough free capacity",
    ROOM: "have enough free resources",
}
_OF_ONE = {"are": "is", "have": "has", "do": "does", "lack": "lacks", "run": "runs"}
_NOW = {
    node_reasons.PORTS_TAKEN: PORTS,
    node_reasons.POD_AFFINITY_UNMET: AFFINITY,
    node_reasons.POD_ANTI_AFFINITY_UNMET: ANTI_AFFINITY,
    node_reasons.EXISTING_ANTI_AFFINITY_UNMET: EXISTING_ANTI_AFFINITY_UNMET,
    node_reasons.NOT_ALIGNED: NUMA,
}


@dataclass(frozen=True, slots=True)
class NodeCount:
    """Nodes that fail for one reason; `small` of them would fail even without running pods."""

    reason: str
    n: int
    small: int = 0

    @property
    def text(self) -> str:
        """The reason with its numbers."""
        verb, _, rest = _TEXTS.get(self.reason, f"lack {self.reason}").partition(" ")
        clause = f"{self.n:,} {_OF_ONE.get(verb, verb) if self.n == 1 else verb} {rest}"
        return f"{clause} ({self.small:,} even when empty)" if self.small else clause


@dataclass(frozen=True, slots=True)
class NodeHistogram:
    """All considered nodes by reason, the most frequent first."""

    n_nodes: int
    counts: tuple[NodeCount, ...]

    @property
    def is_unschedulable(self) -> bool:
        """Whether no eviction could help on any node."""
        return all(count.reason in UNCHANGEABLE or count.small == count.n for count in self.counts)

    @property
    def text(self) -> str:
        """The histogram as one sentence."""
        if self.n_nodes == 0:
            return "the cluster has no nodes"
        return f"of {self.n_nodes:,} node{'' if self.n_nodes == 1 else 's'}, " + ", ".join(
            count.text for count in self.counts
        )


def histogram(session: Session, task: Task, nodes: Indices) -> NodeHistogram:
    """Return why some nodes currently do not fit a pod."""
    left, counts = nodes, list[NodeCount]()

    def take(reason: str, refusing: Mask, small: Mask | None = None) -> None:
        nonlocal left
        n = int(refusing.sum())
        if n:
            counts.append(NodeCount(reason, n, 0 if small is None else int((refusing & small).sum())))
            left = left[~refusing]

    for reason, refusing in _unchangeable(session, task):
        take(reason, refusing[left])
    for reason, columns in _resources(session, task):
        free = session.nodes.idle[left] + session.nodes.releasing[left]
        take(
            reason,
            ~_fits(session, task, free, left, columns),
            ~_fits(session, task, session.nodes.allocatable[left], left, columns),
        )
    state = session.predicates.prepare(task) if len(left) else None
    reasons = [_now(session, task, int(i), lambda i: node_reasons.now(session, task, i, state)) for i in left]
    for reason in dict.fromkeys(reasons):
        take(reason, np.array([each == reason for each in reasons], dtype=bool))
        reasons = [each for each in reasons if each != reason]
    return NodeHistogram(len(nodes), tuple(sorted(counts, key=lambda count: -count.n)))


def _unchangeable(session: Session, task: Task) -> Iterator[tuple[str, Mask]]:
    """Yield the nodes that no eviction makes fit, by reason; pods with the same constraints share the result."""
    if not session.predicates.is_on:
        return
    nodes, pod = session.nodes, task.pod
    yield NOT_READY, ~nodes.ready
    yield TAINT, _kept(session, (TAINT, pod.tolerations), lambda i: not tolerated(pod, nodes.nodes[i]))
    yield SELECTOR, ~session.predicates.affinity_mask(task)
    kind = (KIND, task.kind, task.needs_gpu, pod.legacy_mig)
    yield KIND, _kept(session, kind, lambda i: kind_mismatch(task, i, session) is not None)
    if pod.gpu.memory > 0:
        yield MEMORY_UNKNOWN, ~nodes.knows_memory


def _kept(session: Session, key: object, refuses: Callable[[int], bool]) -> Mask:
    masks = session.reasons.masks
    if key not in masks:
        masks[key] = np.array([refuses(i) for i in range(len(session.nodes))], dtype=bool)
    return masks[key]


def _resources(session: Session, task: Task) -> list[tuple[str, list[int]]]:
    """Return what a pod requests, as columns by name: devices of all kinds first."""
    names = session.nodes.resources.names
    devices = [r for r, name in enumerate(names) if r == GPU or is_mig(name)]
    others = [r for r in (CPU, MEMORY, PODS, *range(PODS + 1, len(names))) if r not in devices]
    asked = [(names[r], [r]) for r in others if task.request[r] > 0]
    return [(GPUS, devices), *asked] if task.needs_gpu else asked


def _fits(session: Session, task: Task, free: np.ndarray, nodes: Indices, columns: list[int]) -> Mask:
    """Return on which nodes a pod would fit if all other resources were unlimited."""
    unlimited = np.full_like(free, np.inf)
    unlimited[:, columns] = free[:, columns]
    if GPU not in columns:
        return np.asarray((task.request[columns] <= unlimited[:, columns]).all(axis=1))
    return fits(session.nodes, task, unlimited, nodes)


def _now(session: Session, task: Task, i: int, ask: Callable[[int], str | None]) -> str:
    job = session.jobs[task.job]
    if session.predicates.over_capacity(task, job, i) is not None:
        return QUEUE
    if session.predicates.is_on and session.predicates.lacks_pods(task, i):
        return "pods"
    message = ask(i)
    if message is not None:
        return _NOW.get(message, CLAIMS if "claim" in message else KIND)
    if task.shares_gpu and choose_devices(session, task, i, pipeline_only=False) is None:
        return DEVICE
    return ROOM

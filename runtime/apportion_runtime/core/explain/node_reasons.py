"""Why each node does not fit a pod, with the engine's messages and in its order: insufficient resources, then
predicates.

Reasons that depend only on nodes and the pod are evaluated as arrays; the others node by node.

Source: pkg/scheduler/framework/session.go (FittingNode), api/node_info/node_info.go (FittingError,
PredicateByNodeResourcesType), api/common_info/pod_errors.go, plugins/predicates, plugins/dynamicresources,
plugins/numa; Kubernetes' TaintToleration, NodeAffinity, NodePorts, InterPodAffinity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from apportion_runtime.core.explain.amount_messages import over_capacity_message
from apportion_runtime.core.node_fit import fits
from apportion_runtime.core.nodes import Indices, Mask
from apportion_runtime.core.plugins.pod_affinity import AffinityState
from apportion_runtime.core.plugins.predicates import kind_mismatch, matches_terms, selected, tolerated
from apportion_runtime.core.resources import CPU, GPU, MEMORY, is_mig
from apportion_runtime.core.task import BY_MEMORY, MIG, Task

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session

TOO_MANY_PODS = "node(s) pod number exceeded"
NOT_READY = "node has NotReady condition"
UNSCHEDULABLE = "node is unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"
POD_AFFINITY_UNMET = "node(s) didn't match pod affinity rules"
POD_ANTI_AFFINITY_UNMET = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_UNMET = "node(s) didn't satisfy existing pods anti-affinity rules"
NOT_ALIGNED = "node cannot NUMA-align the pod's resources under its Topology Manager policy"

Counts = dict[str, int]
_MOST_KEPT = 64


class _Shortfall:
    """The insufficient resources of nodes for a pod: a row for each node, a column for each message; and the sums over nodes."""

    __slots__ = ("counts", "fits_empty", "is_short", "lacks", "n_fits_empty", "n_short", "n_with", "texts")

    def __init__(self, texts: list[str], lacks: Mask, is_short: Mask, fits_empty: Mask) -> None:
        self.texts, self.lacks, self.is_short, self.fits_empty = texts, lacks, is_short, fits_empty
        self.n_with = lacks.sum(axis=0)
        self.n_short, self.n_fits_empty = int(is_short.sum()), int(fits_empty.sum())
        self.counts: Counts = {}
        self._count()

    def _count(self) -> None:
        self.counts = {text: n for text, n in zip(self.texts, self.n_with.tolist(), strict=True) if n}

    def put(self, rows: Indices, other: _Shortfall) -> None:
        """Update the rows of changed nodes."""
        self.n_with += other.n_with - self.lacks[rows].sum(axis=0)
        self.n_short += other.n_short - int(self.is_short[rows].sum())
        self.n_fits_empty += other.n_fits_empty - int(self.fits_empty[rows].sum())
        self.lacks[rows] = other.lacks
        self.is_short[rows] = other.is_short
        self.fits_empty[rows] = other.fits_empty
        self._count()


_Codes = tuple[npt.NDArray[np.int16], list[tuple[str, ...]]]


class NodeReasons:
    """The reasons of the nodes of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._codes: dict[object, _Codes] = {}
        self._kept: dict[object, tuple[int, _Shortfall]] = {}

    def count(self, task: Task, nodes: Indices) -> Counts | None:
        """Return the number of nodes by reason; None if every node fits.

        A node may have several reasons, or none: a device missing for a claim is not reported.
        """
        lacking = self._what_lacks(task) if nodes is self._session.nodes.all else _lacking(self._session, task, nodes)
        counts = lacking.counts
        if lacking.n_fits_empty:
            counts = dict(counts)
            self._predicates(task, nodes[lacking.fits_empty], counts)
        return counts if counts or lacking.n_short else None

    def _what_lacks(self, task: Task) -> _Shortfall:
        """Return the insufficient resources of all nodes; only nodes that changed since the last call are recomputed."""
        session, table = self._session, self._session.nodes
        key = (task.shape, task.gpu_devices)
        at, known = self._kept.pop(key, (0, None))
        if known is None or len(table.changed) - at > len(table):
            known = _lacking(session, task, table.all)
        elif at < len(table.changed):
            rows = np.array(sorted(set(table.changed[at:])), dtype=np.intp)
            known.put(rows, _lacking(session, task, rows))
        if len(self._kept) >= _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = (len(table.changed), known)
        return known

    def _predicates(self, task: Task, nodes: Indices, counts: Counts) -> None:
        session = self._session
        predicates, table = session.predicates, session.nodes
        if predicates.is_on:
            nodes = self._over_capacity(task, nodes, counts)
            key = (task.kind, task.needs_gpu, task.pod.legacy_mig)
            nodes = self._static(key, lambda i: _texts(kind_mismatch(task, i, session)), nodes, counts)
            if task.pod.gpu.memory > 0:
                for i in nodes[~table.knows_memory[nodes]]:
                    _add(counts, _not_synced(task, table.names[i]))
                nodes = nodes[table.knows_memory[nodes]]
            if task.shares_gpu:
                full = np.array([predicates.lacks_pods(task, int(i)) for i in nodes], dtype=bool)
                _add(counts, TOO_MANY_PODS, int(full.sum()))
                nodes = nodes[~full]
            pod = task.pod
            constraints = (tuple(sorted(pod.node_selector.items())), pod.node_affinity, pod.tolerations)
            nodes = self._static(constraints, lambda i: _of_pod_constraints(session, task, i), nodes, counts)
        if len(nodes):
            state = predicates.prepare(task)
            for i in map(int, nodes):
                reason = now(session, task, i, state)
                if reason is not None:
                    _add(counts, reason)

    def _over_capacity(self, task: Task, nodes: Indices, counts: Counts) -> Indices:
        session = self._session
        if not session.keeps_shares or not len(nodes):
            return nodes
        job = session.jobs[task.job]
        # The charged request depends only on the node's device memory.
        memories, groups = np.unique(session.nodes.gpu_memory[nodes], return_inverse=True)
        left = np.ones(len(nodes), dtype=bool)
        for number in range(len(memories)):
            here = groups == number
            over = session.predicates.over_capacity(task, job, int(nodes[int(here.argmax())]))
            if over is not None:
                reasons = (
                    f"node does not have enough capacity. Reason: {over.reason}, Details: {over_capacity_message(over)}"
                )
                _add(counts, reasons, int(here.sum()))
                left &= ~here
        return nodes[left]

    def _static(self, key: object, texts: Callable[[int], tuple[str, ...]], nodes: Indices, counts: Counts) -> Indices:
        """Count the reasons that no eviction changes, and return the nodes without one."""
        if not len(nodes):
            return nodes
        known = self._codes.get(key)
        if known is None:
            known = self._codes[key] = _coded(len(self._session.nodes), texts)
        codes, meanings = known
        for code, n in zip(*np.unique(codes[nodes], return_counts=True), strict=True):
            for text in meanings[int(code)]:
                _add(counts, text, int(n))
        return np.asarray(nodes[codes[nodes] == 0])


def now(session: Session, task: Task, i: int, state: AffinityState | None) -> str | None:
    """Return the reason of a node that depends on its running pods, or None."""
    predicates, node = session.predicates, session.nodes.nodes[i]
    if predicates.is_on:
        if task.kind == MIG and i in session.nodes.legacy_mig:
            pods = (session.predicates.pod(uid) for uid in session.nodes.entries[i])
            legacy = [f"{pod.namespace}/{pod.name}" for pod in pods if pod is not None and pod.legacy_mig]
            return f"MIG job cannot be scheduled on node with legacy MIG jobs: <[{' '.join(sorted(legacy))}]>"
        if predicates.ports_taken(task, i):
            return PORTS_TAKEN
        if state is not None and not state.allows(node):
            if not replace(state, existing_anti_affinity_domains=frozenset(), anti_affinity_domains=frozenset()).allows(
                node
            ):
                return POD_AFFINITY_UNMET
            return (
                POD_ANTI_AFFINITY_UNMET
                if not replace(state, existing_anti_affinity_domains=frozenset()).allows(node)
                else EXISTING_ANTI_AFFINITY_UNMET
            )
        if not session.claims.allows(task, i):
            for ref in task.pod.claims:
                held = session.claims.allocation(task.pod.namespace, ref.claim or "")
                if held is not None and held.nodes is not None and not matches_terms(held.nodes, node):
                    return f"claim {task.pod.namespace}/{ref.claim} node selector does not match node {node.name}"
            return f"cannot allocate all DRA claims on node {node.name}"
    return None if session.numa.allows(task, i) else NOT_ALIGNED


def _of_pod_constraints(session: Session, task: Task, i: int) -> tuple[str, ...]:
    """Return the reason of a node that depends only on the node and the pod's constraints."""
    node = session.nodes.nodes[i]
    if not session.nodes.ready[i]:
        return (UNSCHEDULABLE,) * node.unschedulable + (NOT_READY,) * (not node.ready)
    if not tolerated(task.pod, node):
        return (TAINTED,)
    return () if selected(task.pod, node) else (NOT_SELECTED,)


def _coded(n: int, texts: Callable[[int], tuple[str, ...]]) -> _Codes:
    codes = np.zeros(n, dtype=np.int16)
    meanings: list[tuple[str, ...]] = [()]
    numbers: dict[tuple[str, ...], int] = {(): 0}
    for i in range(n):
        reasons = texts(i)
        if reasons not in numbers:
            numbers[reasons] = len(meanings)
            meanings.append(reasons)
        codes[i] = numbers[reasons]
    return codes, meanings


def _lacking(session: Session, task: Task, nodes: Indices) -> _Shortfall:
    """Return the insufficient resources of some nodes for a pod."""
    table = session.nodes
    idle = table.idle[nodes]
    fitting = fits(table, task, idle + table.releasing[nodes], nodes)
    # A node with enough idle resources has no reason, even if its releasing resources are taken.
    silent = fits(table, task, idle, nodes)
    if task.shares_gpu:
        silent |= (task.request <= idle).all(axis=1) & _whole_or_part(session, task, nodes)
    short = ~fitting & ~silent
    free = table.allocatable[nodes] - table.used[nodes]
    request, gpu = task.request, task.gpu
    columns: list[tuple[str, Mask]] = []
    for name, quantity in gpu.mig:
        text = f"node(s) didn't have enough of mig profile: {name}"
        columns.append((text, np.trunc(free[:, table.resources.get(name)]) < quantity))
    if not gpu.mig:
        whole = free[:, GPU] - np.array([_n_shared(session, int(i)) for i in nodes]) if table.shared else free[:, GPU]
        asked = np.array([_gpus(task, session, int(i)) for i in nodes]) if task.kind == BY_MEMORY else gpu.gpus
        columns.append((_too_little("GPUs"), asked > whole))
        if gpu.memory > 0:
            columns.append((_too_little("GPU memory"), gpu.memory > table.gpu_memory[nodes]))
    columns.append((_too_little("CPU cores"), int(request[CPU]) > np.trunc(free[:, CPU])))
    columns.append((_too_little("memory"), request[MEMORY] > free[:, MEMORY]))
    for r, name in enumerate(table.resources.names):
        if r not in (CPU, MEMORY, GPU) and not is_mig(name) and int(request[r]) > 0:
            columns.append((_too_little(name), np.trunc(free[:, r]) < int(request[r])))
    lacks = np.stack([mask & short for _, mask in columns], axis=1)
    return _Shortfall([text for text, _ in columns], lacks, short, fitting)


def _n_shared(session: Session, i: int) -> int:
    shared = session.nodes.shared.get(i)
    return 0 if shared is None else sum(memory > 0 for memory in shared.used.values())


def _whole_or_part(session: Session, task: Task, nodes: Indices) -> Mask:
    portions = np.array([session.nodes.portion_of(task.gpu, int(i)) for i in nodes])
    return np.asarray((portions <= 1) | (portions == np.floor(portions)))


def _gpus(task: Task, session: Session, i: int) -> float:
    portion = session.nodes.portion_of(task.gpu, i)
    return replace(task.gpu, portion=portion).gpus


def _too_little(name: str) -> str:
    return f"node(s) didn't have enough resources: {name}"


def _not_synced(task: Task, node: str) -> str:
    return (
        "node is not a gpu node or the gpu memory count on the node was not synced yet, "
        f"task: <{task.pod.namespace}/{task.pod.name}>, node: <{node}>"
    )


def _texts(text: str | None) -> tuple[str, ...]:
    return () if text is None else (text,)


def _add(counts: Counts, text: str, n: int = 1) -> None:
    if n:
        counts[text] = counts.get(text, 0) + n

"""Queue samples for the history: GPUs used, nominal and requested of ClusterQueues and Cohorts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.workload_state import Phase, WorkloadState
from apportion_runtime.sim.history import Sample
from apportion_runtime.snapshots.pod_requests import GPUS

if TYPE_CHECKING:
    from apportion_runtime.engines.kueue.engine import Kueue
    from apportion_runtime.engines.kueue.object_reader import Configured


class QueueSamples:
    """The GPUs of every queue, counted again for workloads that changed."""

    def __init__(self, engine: Kueue) -> None:
        self._engine = engine
        self._configured: Configured | None = None
        self._quota: Mapping[str, float] = {}
        self._changed: dict[str, None] = {}
        self._counted: dict[str, tuple[str, float, float]] = {}
        self._held: dict[str, float] = {}
        self._asked: dict[str, float] = {}

    def changed(self, unit: WorkloadState) -> None:
        """Note that a workload changed its phase, queue, request or quota."""
        self._changed[unit.key] = None

    def record(self) -> None:
        """Record the usage of changed queues, and their shares: the requested part of their nominal quota."""
        engine = self._engine
        parents = engine.parents
        touched: dict[str, None] = {}
        if self._configured is not engine.configured:
            self._configured, self._quota = engine.configured, _quotas(engine)
            self._held, self._asked = dict.fromkeys(parents, 0.0), dict.fromkeys(parents, 0.0)
            self._counted.clear()
            self._changed = dict.fromkeys(engine.units)
            touched = dict.fromkeys(parents)
        for key in self._changed:
            self._count(key, touched)
        self._changed.clear()
        at_s = engine.cluster_state.elapsed_s
        for name in touched:
            held, asked, quota = self._held[name], self._asked[name], self._quota[name]
            engine.cluster_state.history.sample(name, Sample(at_s, held, min(asked, quota), quota, asked))

    def _count(self, key: str, touched: dict[str, None]) -> None:
        """Count a workload, instead of what was counted before."""
        before = self._counted.pop(key, None)
        if before is not None:
            queue, own, wanted = before
            self._add(queue, -own, -wanted, touched)
        unit = self._engine.units.get(key)
        if unit is not None:
            own = 0.0 if unit.holder is None else _gpus_of(unit.holder.usage)
            wanted = unit.gpus if unit.phase is Phase.WAITING else own
            self._counted[key] = unit.queue, own, wanted
            self._add(unit.queue, own, wanted, touched)

    def _add(self, queue: str, own: float, wanted: float, touched: dict[str, None]) -> None:
        parents = self._engine.parents
        at: str | None = queue
        while at is not None and at in parents:
            self._held[at] += own
            self._asked[at] += wanted
            touched[at] = None
            at = parents[at]


def _quotas(engine: Kueue) -> Mapping[str, float]:
    parents, rules = engine.parents, engine.configured.rules
    found = dict.fromkeys(parents, 0.0)
    nodes = [(queue.name, queue.quotas) for queue in rules.queues.values()]
    for cohort in rules.cohorts:
        shown = cohort.name if cohort.name in parents else cohort.name.partition(" ")[2]
        nodes.append((shown, cohort.quotas))
    for name, quotas in nodes:
        own = _gpus_of({fr: quota.nominal for fr, quota in quotas.items()})
        at: str | None = name
        while at is not None and at in parents:
            found[at] += own
            at = parents[at]
    return found


def _gpus_of(usage: Mapping[FlavorResource, int]) -> float:
    return float(sum(amount for (_, resource), amount in usage.items() if resource in GPUS))

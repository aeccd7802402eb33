"""Queue samples for the history: GPUs used, nominal and requested of ClusterQueues and Cohorts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.workload_state import Phase
from apportion_runtime.sim.history import Sample
from apportion_runtime.snapshots.pod_requests import GPUS

if TYPE_CHECKING:
    from apportion_runtime.engines.kueue.engine import Kueue


def sample(engine: Kueue) -> None:
    """Record the usage of every queue, and its share: the requested part of its nominal quota."""
    parents = engine.parents
    held = dict.fromkeys(parents, 0.0)
    asked = dict.fromkeys(parents, 0.0)
    quota = _quotas(engine)
    for unit in engine.units.values():
        own = 0.0 if unit.holder is None else _gpus_of(unit.holder.usage)
        wanted = unit.gpus if unit.phase is Phase.WAITING else own
        at: str | None = unit.queue
        while at is not None and at in parents:
            held[at] += own
            asked[at] += wanted
            at = parents[at]
    at_s = engine.cluster_state.elapsed_s
    for name in parents:
        fair = min(asked[name], quota[name])
        engine.cluster_state.history.sample(name, Sample(at_s, held[name], fair, quota[name], asked[name]))


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

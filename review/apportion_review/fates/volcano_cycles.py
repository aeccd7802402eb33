"""Evictions by Volcano for the pending work of a snapshot, and features of a snapshot that cannot be simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.counted_nouns import counted
from apportion_api.volcano.names import GROUP, NODE_GROUP_LIMITS_ANNOTATION, SCHEDULER
from apportion_compiler.plain_objects import Manifest, annotations_of, items, mapping, name_of, text
from apportion_review.fates.pod_evictions import Evictions
from apportion_review.fates.workloads import of_group, pending_pods
from apportion_runtime.engines.volcano.configuration import read_configuration
from apportion_runtime.engines.volcano.snapshot_cycles import evictions_by_cycle
from apportion_runtime.sim.observed.eviction_record import Eviction

N_CYCLES = 5
_MAX_COMPARISONS = 100_000
"""Limit of pending pods times nodes over all cycles: about one second."""
_ACTIONS = ("enqueue", "allocate", "preempt", "reclaim", "backfill")
_PLUGINS = frozenset(
    (
        "priority",
        "gang",
        "conformance",
        "capacity",
        "predicates",
        "nodegroup",
        "resource-strategy-fit",
        "nodeorder",
    )
)


def evictions(objects: Sequence[Manifest]) -> Evictions:
    """Simulate cycles on the objects of a cluster; the first eviction of a pod is recorded."""
    n_pending = sum(text(pod, "spec", "schedulerName") == SCHEDULER for pod in pending_pods(objects))
    if not n_pending:
        return Evictions({})
    unsupported = next(_unsupported(objects), "")
    if unsupported:
        return Evictions({}, unsupported)
    n_nodes = sum(1 for _ in of_group(objects, "", "Node"))
    n_cycles = _MAX_COMPARISONS // max(n_pending * n_nodes, 1)
    if not n_cycles:
        return Evictions({}, f"too large: {counted(n_pending, 'pending pod')}, {counted(n_nodes, 'node')}")
    found: dict[str, Eviction] = {}
    n_run = 0
    try:
        for cycle in evictions_by_cycle(objects, min(N_CYCLES, n_cycles)):
            n_run += 1
            for eviction in cycle:
                found.setdefault(eviction.pod, eviction)
    except ValueError as wrong:
        return Evictions({}, str(wrong))
    return Evictions(found, is_complete=n_cycles >= N_CYCLES or n_run < n_cycles)


def is_recorded(objects: Sequence[Manifest]) -> bool:
    """Return whether recorded runs of Volcano cover a cluster: the actions and plugins that Apportion configures.

    They do not if the plugin gang selects victims, because it iterates over pods in random order, and runs differ.
    """
    if next(_unsupported(objects), None) is not None:
        return False
    made = read_configuration(list(of_group(objects, "", "ConfigMap")))
    gang = made.plugin("gang")
    if gang is not None and (gang.does("Preemptable") or gang.does("Reclaimable")):
        return False
    is_written = len(made.tiers) == 1 and made.actions == _ACTIONS and made.has_hierarchy
    return is_written and {plugin.name for plugin in made.plugins} <= _PLUGINS


def _unsupported(objects: Sequence[Manifest]) -> Iterator[str]:
    """Yield features of the objects that Volcano supports and the simulation does not."""
    try:
        if read_configuration(list(of_group(objects, "", "ConfigMap"))).configurations:
            yield "the scheduler's configuration sets action arguments"
    except ValueError as wrong:
        yield str(wrong)
    for queue in of_group(objects, GROUP, "Queue"):
        if NODE_GROUP_LIMITS_ANNOTATION in annotations_of(queue):
            yield f"queue {name_of(queue)} has per-node-group limits"
    for group in of_group(objects, GROUP, "PodGroup"):
        spec = mapping(group, "spec")
        field = next((key for key in ("minTaskMember", "networkTopology", "subGroupPolicy") if spec.get(key)), None)
        if field is not None:
            yield f"PodGroup {name_of(group)} sets {field}"
    for pod in of_group(objects, "", "Pod"):
        is_own = text(pod, "spec", "schedulerName") == SCHEDULER
        if is_own and items(pod, "spec", "resourceClaims"):
            yield f"Pod {name_of(pod)} has resource claims"

"""What Volcano evicts for the pending work of a snapshot, and what of a snapshot cannot be simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.volcano.names import GROUP, NODE_GROUP_LIMITS_ANNOTATION, SCHEDULER
from apportion_compiler.plain_objects import Manifest, annotations_of, items, mapping, name_of, text
from apportion_review.fates.workloads import of_group, pending_pods
from apportion_runtime.engines.volcano.configuration import read_configuration
from apportion_runtime.engines.volcano.snapshot_cycles import Eviction, evictions_by_cycle

N_CYCLES = 5
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


@dataclass(frozen=True, slots=True)
class Evictions:
    """Evicted pods by uid; `unsupported` says why the cycles were not run, empty if they were."""

    found: Mapping[str, Eviction]
    unsupported: str = ""


def evictions(objects: Sequence[Manifest]) -> Evictions:
    """Run cycles on the objects of a cluster; the first eviction of a pod counts."""
    if not any(text(pod, "spec", "schedulerName") == SCHEDULER for pod in pending_pods(objects)):
        return Evictions({})
    unsupported = next(_unsupported(objects), "")
    if unsupported:
        return Evictions({}, unsupported)
    found: dict[str, Eviction] = {}
    try:
        for cycle in evictions_by_cycle(objects, N_CYCLES):
            for eviction in cycle:
                found.setdefault(eviction.pod, eviction)
    except ValueError as wrong:
        return Evictions({}, str(wrong))
    return Evictions(found)


def is_recorded(objects: Sequence[Manifest]) -> bool:
    """Tell whether recorded runs of Volcano cover a cluster: the actions and plugins that Apportion writes."""
    if next(_unsupported(objects), None) is not None:
        return False
    made = read_configuration(list(of_group(objects, "", "ConfigMap")))
    is_written = len(made.tiers) == 1 and made.actions == _ACTIONS and made.has_hierarchy
    return is_written and {plugin.name for plugin in made.plugins} <= _PLUGINS


def _unsupported(objects: Sequence[Manifest]) -> Iterator[str]:
    """Yield what of the objects Volcano reads and the simulation does not."""
    try:
        if read_configuration(list(of_group(objects, "", "ConfigMap"))).configurations:
            yield "the scheduler's configuration has arguments for actions"
    except ValueError as wrong:
        yield str(wrong)
    for queue in of_group(objects, GROUP, "Queue"):
        if NODE_GROUP_LIMITS_ANNOTATION in annotations_of(queue):
            yield f"queue {name_of(queue)} has limits within node groups"
    for group in of_group(objects, GROUP, "PodGroup"):
        spec = mapping(group, "spec")
        field = next((key for key in ("minTaskMember", "networkTopology", "subGroupPolicy") if spec.get(key)), None)
        if field is not None:
            yield f"PodGroup {name_of(group)} has {field}"
    for pod in of_group(objects, "", "Pod"):
        is_own = text(pod, "spec", "schedulerName") == SCHEDULER
        if is_own and items(pod, "spec", "resourceClaims"):
            yield f"Pod {name_of(pod)} has resource claims"

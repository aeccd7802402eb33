"""Running pods that KAI assigns to pod groups, and pods that only occupy nodes.

KAI assigns a pod to the group in its annotation, and may evict it, regardless of its scheduler. The pod grouper creates
groups only for pods of KAI's scheduler, so pods of other schedulers have none and only occupy nodes.

Source: KAI v0.17.0, pkg/scheduler/cache/cluster_info/indexers.go, pkg/podgrouper/pod_controller.go, and
plugins/proportion (getNodeResources).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from apportion_api.counted_nouns import agreeing, counted
from apportion_api.fields import Manifest
from apportion_api.kai.names import APP_LABEL, POD_GROUP_ANNOTATION, RESERVATION_APP, SCALING_APP
from apportion_api.kai.objects import PodGroup
from apportion_compiler.plain_objects import annotations_of, labels_of, text
from apportion_review.fates.unmanaged import SYSTEM_NAMESPACES, scheduler_of
from apportion_review.fates.workloads import OwnedPods, owned_pods

_HELPERS = frozenset((RESERVATION_APP, SCALING_APP))


@dataclass(frozen=True, slots=True)
class PodGrouping:
    """The grouping of a cluster's running pods by KAI.

    Attributes:
        unmanaged: Workloads of other schedulers, without a group.
        faults: Missing data of pods that KAI may evict, as clauses.
        notes: Notes on unexpected results, one sentence each.
    """

    unmanaged: tuple[OwnedPods, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...]


def pod_grouping(objects: Sequence[Manifest], groups: Iterable[PodGroup], schedulers: Collection[str]) -> PodGrouping:
    """Return the grouping of the running pods by KAI.

    Args:
        objects: Objects of the cluster.
        groups: The pod groups among them.
        schedulers: The `schedulerName` of each of KAI's shards.
    """
    known = {(group.namespace, group.name) for group in groups}
    pods = [each for each in objects if each.get("kind") == "Pod" and labels_of(each).get(APP_LABEL) not in _HELPERS]
    named = [pod for pod in pods if annotations_of(pod).get(POD_GROUP_ANNOTATION)]
    ungrouped = [pod for pod in pods if not annotations_of(pod).get(POD_GROUP_ANNOTATION)]
    n_lacking = sum(text(pod, "status", "phase") == "Running" and _group_of(pod) not in known for pod in named)
    own = _owned(objects, [pod for pod in ungrouped if scheduler_of(pod) in schedulers])
    n_own = sum(len(owned.pods) for owned in own if owned.owner.namespace not in SYSTEM_NAMESPACES)
    adopted = _owned(objects, [pod for pod in named if scheduler_of(pod) not in schedulers])
    return PodGrouping(
        tuple(_owned(objects, [pod for pod in ungrouped if scheduler_of(pod) not in schedulers])),
        tuple(_faults(n_lacking, n_own)),
        (_adopted_note(len(adopted)),) if adopted else (),
    )


def _owned(objects: Sequence[Manifest], pods: Sequence[Manifest]) -> list[OwnedPods]:
    """Return the running pods among some pods, by topmost owner."""
    return owned_pods([*(each for each in objects if each.get("kind") != "Pod"), *pods]) if pods else []


def _group_of(pod: Manifest) -> tuple[str, str]:
    return text(pod, "metadata", "namespace") or "", str(annotations_of(pod).get(POD_GROUP_ANNOTATION) or "")


def _faults(n_lacking: int, n_own: int) -> Iterator[str]:
    if n_lacking:
        names = agreeing(n_lacking, "references a pod group", "reference pod groups")
        yield f"{counted(n_lacking, 'running pod')} {names} that the snapshot does not contain"
    if n_own:
        have = agreeing(n_own, "has", "have")
        yield f"{counted(n_own, 'running pod')} scheduled by KAI Scheduler {have} no pod group"


def _adopted_note(n: int) -> str:
    return (
        f"{counted(n, 'running workload')} {agreeing(n, 'uses', 'use')} another scheduler but "
        f"{agreeing(n, 'belongs', 'belong')} to a pod group: KAI counts and evicts {agreeing(n, 'it', 'them')} as its own."
    )

"""The fates of running pods under YuniKorn: simulated evictions for pending work, and a bound for future work.

A pending pod of a queue within its guarantee preempts, after a delay, in queues above theirs.
Source: apache/yunikorn-core pkg/scheduler/objects (preemption.go, queue.go) at be3bb487.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from apportion_api.yunikorn.config_map import is_config_map, queues_text
from apportion_api.yunikorn.configuration import Partition, Queue, partitions_of
from apportion_api.yunikorn.names import (
    CONFIG_MAP,
    OLD_QUEUE_LABEL,
    PARENT_QUEUE_ANNOTATION,
    PARTITION,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    SCHEDULER,
    VCORE,
)
from apportion_compiler.engines.yunikorn.emit.queues import ID_PROPERTY
from apportion_compiler.engines.yunikorn.rules.amounts import least, parse_amounts
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.queues import root_of, with_root
from apportion_compiler.engines.yunikorn.rules.queues_yaml_decoder import decode
from apportion_compiler.plain_objects import Manifest, annotations_of, labels_of, mapping, name_of, text
from apportion_review.fates.pod_fates import EngineModel, pod_fates
from apportion_review.fates.records import EngineFates, Fate, Verdict
from apportion_review.fates.simulated_evictions import SIMULATED_NOTE, simulated_evictions
from apportion_review.fates.unmanaged import scheduler_of
from apportion_review.fates.workloads import OwnedPods, of_group, owned_pods, requests_of
from apportion_runtime.engines.yunikorn.model import MODEL
from apportion_runtime.snapshots.pod_requests import CPU, total

SOURCE = "YuniKorn core be3bb487"
_DISABLED = "disabled"
_MAX_COMPARISONS = 20_000
"""A few seconds: victims are looked for on all nodes."""


def yunikorn_fates(base: Sequence[Manifest], head: Sequence[Manifest], *, now: float | None) -> EngineFates:
    """Return the fates of the running pods of a cluster, by owner."""
    # Running applications stay in the queue to which they were submitted: a removed one drains.
    submitted = namespace_annotations(base)
    model = EngineModel("yunikorn", SOURCE, partial(_Side, namespaces=submitted), _NOTES)
    return pod_fates(model, base, head)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A queue with properties of its whole path.

    Attributes:
        id: Its id in the policy.
        maximum: The smallest maximum of the queue and its ancestors.
        is_disabled: Whether preemption is disabled for the queue or an ancestor.
    """

    id: str
    guaranteed: Mapping[str, int]
    maximum: Mapping[str, int]
    is_disabled: bool


class _Side:
    """A cluster under one policy. Raises `ValueError` for objects that cannot be evaluated."""

    def __init__(self, objects: Sequence[Manifest], *, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        try:
            self._partition = configured_partition(objects)
            root = root_of(self._partition)
            self._leaves = dict(_leaves(root, root.name.lower(), {}, is_disabled=False))
        except ConfigRefusedError as refused:
            raise ValueError(f"ConfigMap {CONFIG_MAP}: {refused.path}: {refused}") from None
        self._namespaces = namespaces
        self._used: dict[str, dict[str, int]] = {}
        for owned in filter(self.is_managed, owned_pods(objects)):
            path = self._path(owned)
            held = total(requests_of(pod) for pod in owned.pods)
            self._used[path] = total((self._used.get(path, {}), _counted(held)))
        self._evictions = simulated_evictions(
            [_submitted(made, namespaces) for made in objects],
            MODEL,
            max_comparisons=_MAX_COMPARISONS,
            scheduler=SCHEDULER,
        )
        self._ids = {path: leaf.id for path, leaf in self._leaves.items()}

    @property
    def why_incomplete(self) -> str:
        """Why pending work may evict more than is found; empty if the simulation settled."""
        return "" if self._evictions.is_complete else "the simulation was stopped before it reached a stable state"

    def _path(self, owned: OwnedPods) -> str:
        return queue_path(owned.pods[0], self._namespaces)

    def queue_of(self, owned: OwnedPods) -> str:
        """Return the queue of the namespace, or the one that the pods name."""
        path = self._path(owned)
        return self._leaves[path].id if path in self._leaves else path

    def is_preemptible(self, owned: OwnedPods) -> bool | None:
        """Return None: a pod that opts out is only evicted last."""
        return None

    def is_managed(self, owned: OwnedPods) -> bool:
        """Return whether YuniKorn schedules any of the pods; it records others as what their nodes hold."""
        return any(scheduler_of(pod) == SCHEDULER for pod in owned.pods)

    def notes(self) -> tuple[str, ...]:
        """Return why YuniKorn was not simulated, if it was not."""
        return tuple(filter(None, (self._evictions.note("YuniKorn"),)))

    def verdict(self, owned: OwnedPods) -> Verdict:
        """Return the fate of pods."""
        if any(scheduler_of(pod) != SCHEDULER for pod in owned.pods):
            return Verdict(Fate.UNKNOWN, "some of its pods are not scheduled by YuniKorn")
        path = self._path(owned)
        leaf = self._leaves.get(path)
        if leaf is None:
            return Verdict(Fate.UNKNOWN, f"queue {path} does not exist" if path else "its queue is unknown")
        evicted = self._evictions.verdict(owned, self._ids)
        if evicted is not None:
            return evicted
        over = _first_over(self._used.get(path, {}), leaf.maximum)
        if self._partition.quota_preemption and over:
            return Verdict(Fate.ON_DEMAND, f"{leaf.id} is over its max of {over}, and quota preemption is enabled")
        if self._partition.preemption is False or leaf.is_disabled:
            where = "in the partition" if self._partition.preemption is False else f"for {leaf.id}"
            kept = f"preemption is disabled {where}"
        elif self._stays_within(path, leaf):
            kept = f"{leaf.id} never exceeds its guarantee"
        else:
            return Verdict(
                Fate.ON_DEMAND,
                f"{leaf.id} may exceed its guarantee, and pods in queues within their guarantee may preempt it after a delay",
            )
        if over:
            return Verdict(Fate.STUCK, f"{leaf.id} is over its max of {over}; {kept}")
        return Verdict(Fate.UNKNOWN, f"{kept}; preemption for pods that must run on a specific node is not modelled")

    def _stays_within(self, path: str, leaf: _Leaf) -> bool:
        """Return whether a queue never uses more of any resource than its guarantee; False without a guarantee."""
        if not leaf.guaranteed:
            return False
        used = self._used.get(path, {})
        return all(
            resource in leaf.maximum and max(leaf.maximum[resource], used.get(resource, 0)) <= amount
            for resource, amount in leaf.guaranteed.items()
        )


def _submitted(made: Manifest, namespaces: Mapping[str, Mapping[str, str]]) -> Manifest:
    """Return an object, or a namespace with the queue to which its applications were submitted."""
    if made.get("kind") != "Namespace":
        return made
    kept = {key: value for key, value in annotations_of(made).items() if key != PARENT_QUEUE_ANNOTATION}
    before = namespaces.get(name_of(made), {}).get(PARENT_QUEUE_ANNOTATION)
    placed = {PARENT_QUEUE_ANNOTATION: before} if before else {}
    return {**made, "metadata": {**mapping(made, "metadata"), "annotations": {**kept, **placed}}}


def namespace_annotations(objects: Sequence[Manifest]) -> Mapping[str, Mapping[str, str]]:
    """Return the annotations of each namespace."""
    return {name_of(each): annotations_of(each) for each in of_group(objects, "", "Namespace")}


def queue_path(pod: Manifest, namespaces: Mapping[str, Mapping[str, str]]) -> str:
    """Return the path of the queue of a pod's namespace, or that which the pod names; empty if neither has one."""
    labels, annotations = labels_of(pod), annotations_of(pod)
    named = labels.get(QUEUE_LABEL) or annotations.get(QUEUE_ANNOTATION) or labels.get(OLD_QUEUE_LABEL)
    placed = namespaces.get(text(pod, "metadata", "namespace") or "", {}).get(PARENT_QUEUE_ANNOTATION)
    return (placed or named or "").lower()


def configured_partition(objects: Sequence[Manifest]) -> Partition:
    """Return the partition `default` of the configuration, with its root.

    Raises:
        ConfigRefusedError: If YuniKorn refuses the configuration.
        ValueError: If there is none.
    """
    maps = {name_of(made): text_of for made in objects if is_config_map(made) and (text_of := queues_text(made))}
    found = maps.get(CONFIG_MAP) or next(iter(maps.values()), None)
    if found is None:
        raise ValueError(f"the objects contain no ConfigMap {CONFIG_MAP} with queues")
    for partition in partitions_of(decode(found.text)):
        if (partition.name or PARTITION) in (PARTITION, f"[mycluster]{PARTITION}"):
            return with_root(partition)
    raise ValueError(f"ConfigMap {CONFIG_MAP} has no partition {PARTITION}")


def _leaves(queue: Queue, path: str, above: Mapping[str, int], *, is_disabled: bool) -> Iterator[tuple[str, _Leaf]]:
    maximum = least(above, parse_amounts(queue.max, f"{queue.path}.resources.max"))
    properties = queue.properties or {}
    disabled = is_disabled or properties.get("preemption.policy") == _DISABLED
    guaranteed = parse_amounts(queue.guaranteed, f"{queue.path}.resources.guaranteed")
    if not queue.queues:
        yield path, _Leaf(properties.get(ID_PROPERTY, queue.name), guaranteed, maximum, disabled)
    for child in queue.queues or ():
        yield from _leaves(child, f"{path}.{child.name.lower()}", maximum, is_disabled=disabled)


def _counted(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return amounts by YuniKorn's names of resources."""
    return {VCORE if name == CPU else name: value for name, value in amounts.items()}


def _first_over(used: Mapping[str, int], maximum: Mapping[str, int]) -> str:
    return next((f"{limit} {name}" for name, limit in sorted(maximum.items()) if used.get(name, 0) > limit), "")


_NOTES = (
    SIMULATED_NOTE,
    "For workloads that are not running yet, fences and priority offsets, which restrict the search for victims, are ignored.",
)

"""The workloads of a snapshot: pods by the objects that own them, and their deadlines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from apportion_api.kai.names import POD_GROUP_ANNOTATION
from apportion_api.volcano.names import GROUP_ANNOTATION
from apportion_runtime.admission.expansion import EXPANDERS
from apportion_runtime.admission.expansion.observed import OBSERVED
from apportion_runtime.admission.objects import (
    annotations_of,
    kind_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    uid_of,
)
from apportion_runtime.sim.observed.deadlines import ends_at
from apportion_runtime.sim.scenario.format import Manifest

_ENDED = ("Succeeded", "Failed")
_GROUP_ANNOTATIONS = (POD_GROUP_ANNOTATION, GROUP_ANNOTATION)
"""The annotations of KAI Scheduler and of Volcano."""
_HELD_ELSEWHERE = frozenset((("", "Pod"), *EXPANDERS, ("batch", "CronJob")))
"""Kinds whose work is derived from their pods."""
_OF_ADMISSION_AND_BINDING = frozenset(("nodeName", "priority", "preemptionPolicy"))
"""Fields of a pod that its template lacks: its replacement gets its own values."""


class Owner(NamedTuple):
    """The topmost object that owns pods; for a pod without an owner, the pod itself."""

    namespace: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class ObservedWorkload:
    """A workload of a snapshot.

    Attributes:
        owner: The owner of its pods.
        owners: All objects between the pods and the owner, including the owner.
        pods: Its pods that have not ended.
        ends: Its latest end, in seconds since the epoch; None if unknown.
        pod_sets: Its future pods if it has none yet: name, count and template of each set.
        record: The object that its engine maintains for it, such as Kueue's Workload; empty without one.
        replaces_pods: Whether its controller replaces pods that it loses.
        missing: Further pods that its controllers require: name, count and template of each set.
    """

    owner: Owner
    owners: frozenset[Owner]
    pods: tuple[Manifest, ...] = ()
    ends: float | None = None
    pod_sets: tuple[Mapping[str, Any], ...] = ()
    record: Manifest = field(default_factory=dict)
    replaces_pods: bool = False
    missing: tuple[Mapping[str, Any], ...] = ()

    @property
    def runs(self) -> bool:
        """Whether any of its pods has a node."""
        return any(nested(pod, "spec", "nodeName") for pod in self.pods)

    def manifest(self) -> dict[str, Any]:
        """Return the workload as an object that a simulation expands to its pods."""
        sets = self.pod_sets or tuple(
            {"name": name_of(pod), "count": 1, "template": _template(pod)} for pod in self.pods
        )
        name = f"{self.owner.kind.lower()}-{self.owner.name}"
        labels = dict(labels_of(self.pods[0])) if self.pods else {}
        return {
            "apiVersion": f"{OBSERVED[0]}/v1",
            "kind": OBSERVED[1],
            "metadata": {"name": name, "namespace": self.owner.namespace, "labels": labels},
            "spec": {
                "suspend": bool(self.pod_sets),
                "podSets": (*sets, *self.missing),
                "record": self.record,
                "replacesPods": self.replaces_pods,
            },
        }


def _template(pod: Manifest) -> dict[str, Any]:
    spec = {key: value for key, value in pod["spec"].items() if key not in _OF_ADMISSION_AND_BINDING}
    return {"metadata": {"labels": labels_of(pod), "annotations": annotations_of(pod)}, "spec": spec}


def observed_workloads(objects: Sequence[Manifest]) -> list[ObservedWorkload]:
    """Return the work of a cluster by topmost owner, in the order in which it was created.

    Owner references are followed as long as the owners are among the given objects.
    """
    owned = {_identity(each): each for each in objects if (each.get("metadata") or {}).get("ownerReferences")}
    groups = {(namespace_of(each), name_of(each)): each for each in objects if each.get("kind") == "PodGroup"}
    by_owner: dict[Owner, list[Manifest]] = {}
    chains: dict[Owner, set[Owner]] = {}
    for pod in _live_pods(objects):
        chain = list(_owners(pod, owned, groups))
        by_owner.setdefault(chain[-1], []).append(pod)
        chains.setdefault(chain[-1], set()).update(chain)
    known = {_identity(each): each for each in objects if kind_of(each) in EXPANDERS}
    found = [
        ObservedWorkload(
            owner,
            frozenset(chains[owner]),
            tuple(pods),
            ends_at([each for other in chains[owner] if (each := known.get(other)) is not None], pods),
        )
        for owner, pods in by_owner.items()
    ]
    return sorted(found, key=lambda each: (_created(each.pods[0]), each.owner))


def other_objects(objects: Iterable[Manifest]) -> list[Manifest]:
    """Return the objects of a cluster that are neither work nor its pods."""
    return [
        each for each in objects if kind_of(each) not in _HELD_ELSEWHERE and (each.get("metadata") or {}).get("name")
    ]


def _live_pods(objects: Iterable[Manifest]) -> Iterator[Manifest]:
    for pod in objects:
        if kind_of(pod) == ("", "Pod") and nested(pod, "status", "phase") not in _ENDED:
            yield pod


def _owners(
    pod: Manifest, owned: Mapping[Owner, Manifest], groups: Mapping[tuple[str, str], Manifest]
) -> Iterator[Owner]:
    """Yield the pod and its controllers, the topmost last; one without any has its pod group and the group's owner."""
    at: Manifest | None = pod
    identity = _identity(pod)
    seen: set[Owner] = set()
    while identity not in seen:
        seen.add(identity)
        yield identity
        references = () if at is None else at["metadata"].get("ownerReferences") or ()
        group = None if references or at is not pod else _group(pod, groups)
        if group is not None:
            references = [
                *(group["metadata"].get("ownerReferences") or ()),
                {"kind": "PodGroup", "name": name_of(group)},
            ]
        if not references:
            return
        reference = next((each for each in references if each.get("controller")), references[0])
        kind, name = str(reference.get("kind") or ""), str(reference.get("name") or "")
        identity = Owner("" if kind == "Node" else identity.namespace, name, kind)
        at = owned.get(identity)


def _group(pod: Manifest, groups: Mapping[tuple[str, str], Manifest]) -> Manifest | None:
    named = (annotations_of(pod).get(key) for key in _GROUP_ANNOTATIONS)
    return next((groups[key] for name in named if name and (key := (namespace_of(pod), name)) in groups), None)


def _identity(manifest: Manifest) -> Owner:
    return Owner(namespace_of(manifest), name_of(manifest), str(manifest.get("kind") or ""))


def _created(pod: Manifest) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")


def uid_or_name(pod: Manifest) -> str:
    """Return the uid of a pod; its namespace and name if it was exported without a uid."""
    return uid_of(pod) or f"{namespace_of(pod)}/{name_of(pod)}"

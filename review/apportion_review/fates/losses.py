"""Nodes and namespaces that a change removes from running pods, on any engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.objects import read_all
from apportion_compiler.backends.metadata import MANAGED_BY_LABEL, MANAGER
from apportion_compiler.plain_objects import Manifest, items, labels_of, mapping, name_of, text
from apportion_review.fates.records import Fate, Verdict, WorkloadFate
from apportion_review.fates.workloads import OwnedPods, of_group

_WAITING = {"phase": "Pending"}
_PREEMPTS = "PreemptLowerPriority"


@dataclass(frozen=True, slots=True)
class Losses:
    """Nodes and namespaces that exist only in the base.

    Attributes:
        nodes: Names of the nodes.
        deleted: Names of the namespaces.
        retained: Names of namespaces that Apportion emitted, which stay on the cluster by default.
    """

    nodes: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    retained: frozenset[str] = frozenset()

    def verdict(self, owned: OwnedPods) -> Verdict | None:
        """Return the fate of pods whose node or namespace is removed; None for other pods."""
        deleted = self._deletion(owned.owner.namespace)
        if deleted is not None:
            return deleted
        lost = [node for pod in owned.pods if (node := _node(pod)) in self.nodes]
        if lost:
            some = "" if len(lost) == len(owned.pods) else f"{len(lost)} of {len(owned.pods)} pods: "
            return Verdict(Fate.EVICTED, f"{some}node {lost[0]} is removed, and its pods are deleted")
        return None

    def _deletion(self, namespace: str) -> Verdict | None:
        if namespace not in self.deleted:
            return None
        return Verdict(Fate.EVICTED, f"namespace {namespace} is deleted, with everything in it")

    def in_namespace(self, row: WorkloadFate) -> WorkloadFate:
        """Return the fate of a workload that an engine decided without regard to its namespace."""
        namespace = row.workload.namespace
        after = self._deletion(namespace) or row.head
        if after.fate is not Fate.EVICTED:
            after = self.uncertainty(namespace) or after
        return row if after is row.head else replace(row, head=after)

    def uncertainty(self, namespace: str) -> Verdict | None:
        """Return why the fate of work is unknown although no rule of the engine evicts it; None if it is known."""
        if namespace not in self.retained:
            return None
        rule = f"namespace {namespace} is no longer in the policy: it is kept with its pods, unless the stack sets deleteNamespaces"
        return Verdict(Fate.UNKNOWN, rule)

    def applied(self, objects: Sequence[Manifest]) -> Sequence[Manifest]:
        """Return objects of the head without removed ones: pods of a removed node are created again if controlled."""
        return list(self._left(objects)) if self.nodes or self.deleted else objects

    def _left(self, objects: Sequence[Manifest]) -> Iterator[Manifest]:
        classes = {each.name: each for each in read_all(PriorityClass, objects)}
        newest = max((_created(pod) for pod in of_group(objects, "", "Pod")), default="")
        for made in objects:
            if text(made, "metadata", "namespace") in self.deleted:
                continue
            if made.get("kind") != "Pod" or _node(made) not in self.nodes:
                yield made
            elif items(made, "metadata", "ownerReferences"):
                yield _made_anew(made, classes.get(text(made, "spec", "priorityClassName") or ""), newest)


def _made_anew(pod: Manifest, of_class: PriorityClass | None, at: str) -> Manifest:
    """Return a pod as its controller makes it again: without a node, and with the priority that its class has by now."""
    spec = {key: value for key, value in mapping(pod, "spec").items() if key != "nodeName"}
    if of_class is not None:
        spec |= {"priority": of_class.value or 0, "preemptionPolicy": of_class.preemption_policy or _PREEMPTS}
    metadata = {**mapping(pod, "metadata"), **({"creationTimestamp": at} if at else {})}
    return {**pod, "metadata": metadata, "spec": spec, "status": _WAITING}


def losses(base: Sequence[Manifest], head: Sequence[Manifest]) -> Losses:
    """Return the nodes and namespaces that exist only in the base."""
    gone = _missing(base, head, "Namespace")
    return Losses(
        frozenset(_missing(base, head, "Node")),
        frozenset(name for name, made in gone.items() if not _is_written(made)),
        frozenset(name for name, made in gone.items() if _is_written(made)),
    )


def _is_written(made: Manifest) -> bool:
    return labels_of(made).get(MANAGED_BY_LABEL) == MANAGER


def _missing(base: Sequence[Manifest], head: Sequence[Manifest], kind: str) -> Mapping[str, Manifest]:
    kept = {name_of(made) for made in of_group(head, "", kind)}
    return {name: made for made in of_group(base, "", kind) if (name := name_of(made)) not in kept}


def _created(pod: Manifest) -> str:
    return text(pod, "metadata", "creationTimestamp") or ""


def _node(pod: Manifest) -> str:
    return text(pod, "spec", "nodeName") or ""

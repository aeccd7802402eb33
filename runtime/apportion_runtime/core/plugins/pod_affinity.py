"""Required affinity and anti-affinity between pods, as Kubernetes' InterPodAffinity filter decides it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from apportion_runtime.core.snapshot import Expression, Node, Pod, PodTerm


class Places(Protocol):
    """Nodes, and by node the ids of the pods on it."""

    @property
    def nodes(self) -> Sequence[Node]:
        """The nodes."""
        ...

    @property
    def entries(self) -> Sequence[Iterable[str]]:
        """The pods, in the order of the nodes."""
        ...


def has_affinity(pod: Pod) -> bool:
    """Tell whether a pod asks for or against the company of others."""
    return bool(pod.affinity or pod.anti_affinity)


@dataclass(frozen=True, slots=True)
class AffinityState:
    """What is known of all nodes for one pod: domains (key, value) that existing pods forbid it, that its own
    anti-affinity forbids, and where all of its affinity terms find company.
    """

    pod: Pod
    forbidden: frozenset[tuple[str, str]]
    avoided: frozenset[tuple[str, str]]
    company: frozenset[tuple[str, str]]
    is_first: bool

    def allows(self, node: Node) -> bool:
        """Tell whether a node is in no forbidden domain and in every wanted one."""
        labels = node.labels
        if any(labels.get(key) == value for key, value in self.forbidden):
            return False
        if any(
            term.topology_key in labels and (term.topology_key, labels[term.topology_key]) in self.avoided
            for term in self.pod.anti_affinity
        ):
            return False
        if not self.pod.affinity:
            return True
        if any(term.topology_key not in labels for term in self.pod.affinity):
            return False
        if all((t.topology_key, labels[t.topology_key]) in self.company for t in self.pod.affinity):
            return True
        # The first of a group that wants its own company has to be let in somewhere.
        return self.is_first


def affinity_state(pod: Pod, nodes: Places, by_uid: Mapping[str, Pod]) -> AffinityState:
    """Look at every pod on every node, once for a pod that is about to be placed."""
    forbidden: set[tuple[str, str]] = set()
    avoided: set[tuple[str, str]] = set()
    company: set[tuple[str, str]] = set()
    for i, entries in enumerate(nodes.entries):
        labels = nodes.nodes[i].labels
        for uid in entries:
            other = by_uid.get(uid)
            if other is None:
                continue
            for term in other.anti_affinity:
                if term.topology_key in labels and selects(term, other, pod):
                    forbidden.add((term.topology_key, labels[term.topology_key]))
            for term in pod.anti_affinity:
                if term.topology_key in labels and selects(term, pod, other):
                    avoided.add((term.topology_key, labels[term.topology_key]))
            if pod.affinity and all(selects(term, pod, other) for term in pod.affinity):
                for term in pod.affinity:
                    if term.topology_key in labels:
                        company.add((term.topology_key, labels[term.topology_key]))
    is_first = not company and bool(pod.affinity) and all(selects(term, pod, pod) for term in pod.affinity)
    return AffinityState(pod, frozenset(forbidden), frozenset(avoided), frozenset(company), is_first)


def selects(term: PodTerm, owner: Pod, other: Pod) -> bool:
    """Tell whether a term of a pod speaks of another pod."""
    if term.selector is None:
        return False
    namespaces = term.namespaces or (() if term.namespace_selector is not None else (owner.namespace,))
    # A selector of namespaces is taken to select all where it is empty; labels of namespaces are not in a snapshot.
    if other.namespace not in namespaces and term.namespace_selector != ():
        return False
    return all(_fits(expression, other.labels) for expression in term.selector)


def _fits(expression: Expression, labels: Mapping[str, str]) -> bool:
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value is not None and value in expression.values
        case "NotIn":
            return value is None or value not in expression.values
        case "Exists":
            return value is not None
        case _:
            return value is None

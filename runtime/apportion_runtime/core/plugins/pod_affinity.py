"""Affinity and anti-affinity between pods, filtered and scored as by Kubernetes' InterPodAffinity plugin.

Source: pkg/scheduler/plugins/podaffinity; k8s.io/kubernetes, plugins/interpodaffinity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from apportion_runtime.core.label_requirements import matches
from apportion_runtime.core.nodes import Indices
from apportion_runtime.core.plugins import scores
from apportion_runtime.core.pod_constraints import PodTerm
from apportion_runtime.core.resources import Vector
from apportion_runtime.core.snapshot import Node, Pod


class PodNodes(Protocol):
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
    """Return whether a pod has affinity or anti-affinity terms."""
    return bool(pod.affinity or pod.anti_affinity)


@dataclass(frozen=True, slots=True)
class AffinityState:
    """The affinity state of all nodes for one pod, as domains (key, value): those excluded by the anti-affinity of running
    pods, those excluded by its own, and those in which all of its affinity terms match.
    """

    pod: Pod
    existing_anti_affinity_domains: frozenset[tuple[str, str]]
    anti_affinity_domains: frozenset[tuple[str, str]]
    affinity_domains: frozenset[tuple[str, str]]
    is_first: bool

    def allows(self, node: Node) -> bool:
        """Return whether a node is in no excluded domain and in a matching one for every affinity term."""
        labels = node.labels
        if any(labels.get(key) == value for key, value in self.existing_anti_affinity_domains):
            return False
        if any(
            term.topology_key in labels and (term.topology_key, labels[term.topology_key]) in self.anti_affinity_domains
            for term in self.pod.anti_affinity
        ):
            return False
        if not self.pod.affinity:
            return True
        if any(term.topology_key not in labels for term in self.pod.affinity):
            return False
        if all((t.topology_key, labels[t.topology_key]) in self.affinity_domains for t in self.pod.affinity):
            return True
        # The first pod of a group with affinity to itself has to be placed somewhere.
        return self.is_first


def affinity_state(pod: Pod, nodes: PodNodes, by_uid: Mapping[str, Pod]) -> AffinityState:
    """Return the affinity state for a pod, from every pod on every node."""
    existing_anti_affinity_domains: set[tuple[str, str]] = set()
    anti_affinity_domains: set[tuple[str, str]] = set()
    affinity_domains: set[tuple[str, str]] = set()
    for i, entries in enumerate(nodes.entries):
        labels = nodes.nodes[i].labels
        for uid in entries:
            other = by_uid.get(uid)
            if other is None:
                continue
            for term in other.anti_affinity:
                if term.topology_key in labels and selects(term, other, pod):
                    existing_anti_affinity_domains.add((term.topology_key, labels[term.topology_key]))
            for term in pod.anti_affinity:
                if term.topology_key in labels and selects(term, pod, other):
                    anti_affinity_domains.add((term.topology_key, labels[term.topology_key]))
            if pod.affinity and all(selects(term, pod, other) for term in pod.affinity):
                for term in pod.affinity:
                    if term.topology_key in labels:
                        affinity_domains.add((term.topology_key, labels[term.topology_key]))
    is_first = not affinity_domains and bool(pod.affinity) and all(selects(term, pod, pod) for term in pod.affinity)
    return AffinityState(
        pod,
        frozenset(existing_anti_affinity_domains),
        frozenset(anti_affinity_domains),
        frozenset(affinity_domains),
        is_first,
    )


class PodPreferences:
    """The scores of preferred affinity and anti-affinity between pods, in one session."""

    def __init__(self, *, is_on: bool, by_uid: Mapping[str, Pod]) -> None:
        self._is_on = is_on
        self._by_uid = by_uid
        self._any = any(pod.pod_preferences for pod in by_uid.values())
        self._skipped: set[str] = set()

    @property
    def any(self) -> bool:
        """Whether any pod has preferred terms."""
        return self._is_on and self._any

    def begin_cycle(self) -> None:
        """Forget which pods are skipped."""
        self._skipped.clear()

    def note(self, pod: Pod) -> None:
        """Record a pod that was added or changed."""
        self._any = self._any or bool(pod.pod_preferences)

    def scores(self, pod: Pod, nodes: PodNodes) -> Mapping[str, Mapping[str, int]]:
        """Return the score of each domain, by key and value of the node's label.

        A pod without any score at the first call is skipped for the rest of the session, as in the engine.
        """
        if not self.any or pod.uid in self._skipped:
            return {}
        found: dict[str, dict[str, int]] = {}
        for i, entries in enumerate(nodes.entries):
            labels = nodes.nodes[i].labels
            for uid in entries:
                other = self._by_uid.get(uid)
                if other is None:
                    continue
                for owner, judged in ((pod, other), (other, pod)):
                    for preference in owner.pod_preferences:
                        key = preference.term.topology_key
                        if key in labels and selects(preference.term, owner, judged):
                            domains = found.setdefault(key, {})
                            domains[labels[key]] = domains.get(labels[key], 0) + preference.weight
        if not found:
            self._skipped.add(pod.uid)
        return found


def preference_scores(domains: Mapping[str, Mapping[str, int]], nodes: PodNodes, among: Indices) -> Vector:
    """Return the score of each of some nodes, by the scores of its domains."""
    worth = [sum(d.get(nodes.nodes[i].labels.get(key, ""), 0) for key, d in domains.items()) for i in among]
    return scores.POD_AFFINITY * np.array(worth, dtype=float)


def selects(term: PodTerm, owner: Pod, other: Pod) -> bool:
    """Return whether a term of a pod selects another pod."""
    if term.selector is None:
        return False
    namespaces = term.namespaces or (() if term.namespace_selector is not None else (owner.namespace,))
    # An empty namespace selector is assumed to select all namespaces, because a snapshot has no namespace labels.
    if other.namespace not in namespaces and term.namespace_selector != ():
        return False
    return all(matches(expression, other.labels) for expression in term.selector)

"""Node and inter-pod affinity of pods as records of the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_runtime.core.label_requirements import matches
from apportion_runtime.core.pod_constraints import Expression, NodeTerm, PodPreference, PodTerm, Toleration
from apportion_runtime.snapshots.kubernetes.objects import Object

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def expressions(written: Sequence[Mapping[str, Any]] | None) -> tuple[Expression, ...]:
    """Return requirements on labels or fields."""
    return tuple(
        Expression(e.get("key") or "", e.get("operator") or "", tuple(e.get("values") or ())) for e in written or ()
    )


def node_terms(selector: Mapping[str, Any] | None) -> tuple[NodeTerm, ...] | None:
    """Return the alternatives of a node selector; None without a selector."""
    if selector is None:
        return None
    return tuple(
        NodeTerm(expressions(term.get("matchExpressions")), expressions(term.get("matchFields")))
        for term in selector.get("nodeSelectorTerms") or ()
    )


def label_selector(selector: Mapping[str, Any] | None) -> tuple[Expression, ...] | None:
    """Return the requirements of a label selector; None without a selector, which selects nothing."""
    if selector is None:
        return None
    equal = (Expression(key, "In", (value,)) for key, value in sorted((selector.get("matchLabels") or {}).items()))
    return (*equal, *expressions(selector.get("matchExpressions")))


def required_nodes(affinity: Mapping[str, Any]) -> tuple[NodeTerm, ...] | None:
    """Return the node terms that the affinity of a pod requires."""
    return node_terms((affinity.get("nodeAffinity") or {}).get(_REQUIRED))


def tolerations(written: Sequence[Mapping[str, Any]] | None) -> tuple[Toleration, ...]:
    """Return the tolerations of a pod."""
    if not written:
        return ()
    return tuple(
        [
            _toleration(t.get("key") or "", t.get("operator") or "Equal", t.get("value") or "", t.get("effect") or "")
            for t in written
        ]
    )


# Pods have few different ones, which they share.
_toleration = lru_cache(maxsize=1024)(Toleration)


class PodTerms:
    """Reads affinities between pods; namespaces that are chosen by label are looked up."""

    def __init__(self, namespaces: Sequence[Object]) -> None:
        # The API server gives each namespace the label with its name.
        self._labels = {each.name: {**each.labels, NAMESPACE_LABEL: each.name} for each in namespaces}

    def of(self, affinity: Mapping[str, Any] | None) -> tuple[PodTerm, ...]:
        """Return the required terms of a pod's affinity or anti-affinity."""
        return tuple(self._term(term) for term in (affinity or {}).get(_REQUIRED) or ())

    def preferred(self, affinity: Mapping[str, Any]) -> tuple[PodPreference, ...]:
        """Return the preferred terms of the affinities of a pod."""
        return tuple(
            PodPreference(self._term(written.get("podAffinityTerm") or {}), sign * (written.get("weight") or 0))
            for key, sign in (("podAffinity", 1), ("podAntiAffinity", -1))
            for written in (affinity.get(key) or {}).get(_PREFERRED) or ()
        )

    def _term(self, term: Mapping[str, Any]) -> PodTerm:
        chosen = label_selector(term.get("namespaceSelector"))
        named = tuple(term.get("namespaces") or ())
        if chosen:
            named += tuple(
                sorted(
                    n
                    for n, labels in self._labels.items()
                    if n not in named and all(matches(e, labels) for e in chosen)
                )
            )
        return PodTerm(term.get("topologyKey") or "", label_selector(term.get("labelSelector")), named, chosen)

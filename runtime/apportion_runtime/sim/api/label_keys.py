"""The API server's merge of `matchLabelKeys` and `mismatchLabelKeys` into the selectors of a new pod's affinity terms.

Source: pkg/registry/core/pod/strategy.go (mutatePodAffinity) at Kubernetes v1.36.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apportion_runtime.admission.objects import labels_of
from apportion_runtime.sim.scenario.format import Manifest

_KINDS = ("podAffinity", "podAntiAffinity")
_REQUIRED, _PREFERRED = (f"{when}DuringSchedulingIgnoredDuringExecution" for when in ("required", "preferred"))
_OPERATORS = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))


def with_label_keys(made: Manifest) -> Manifest:
    """Return a pod whose affinity terms also select by the values of its labels that the terms name."""
    affinity = made["spec"].get("affinity") or {}
    labels = labels_of(made)
    merged = {kind: _merged(affinity[kind], labels) for kind in _KINDS if affinity.get(kind)}
    if all(affinity[kind] == terms for kind, terms in merged.items()):
        return made
    return {**made, "spec": {**made["spec"], "affinity": {**affinity, **merged}}}


def _merged(written: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    found = dict(written)
    if written.get(_REQUIRED):
        found[_REQUIRED] = [_term(term, labels) for term in written[_REQUIRED]]
    if written.get(_PREFERRED):
        found[_PREFERRED] = [
            {**each, "podAffinityTerm": _term(each.get("podAffinityTerm") or {}, labels)}
            for each in written[_PREFERRED]
        ]
    return found


def _term(term: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any]:
    selector = term.get("labelSelector")
    added = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in _OPERATORS
        for key in term.get(field) or ()
        if key in labels
    ]
    if selector is None or not added:
        return term
    expressions = [*(selector.get("matchExpressions") or ()), *added]
    return {**term, "labelSelector": {**selector, "matchExpressions": expressions}}

"""The PodTopologySpread plugin.

Source: pkg/scheduler/framework/plugins/podtopologyspread (filtering.go, scoring.go, common.go) at v1.36.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from apportion_api.kubernetes.names import HOSTNAME_LABEL
from apportion_runtime.core.label_requirements import matches
from apportion_runtime.core.plugins.predicates import selected
from apportion_runtime.core.pod_constraints import Expression
from apportion_runtime.engines.kube_scheduler.node_taints import tolerates
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts, Spread, spread_of
from apportion_runtime.engines.kube_scheduler.profiles import Profile

NO_MATCH = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{NO_MATCH} (missing required label)"
_MOST = 100


def spread_constraints(pod: PodFacts, profile: Profile, *, hard: bool) -> tuple[Spread, ...]:
    """Return a pod's hard or soft constraints, or the defaults of its profile."""
    if pod.spreads:
        return tuple(each for each in pod.spreads if each.hard is hard)
    if pod.owner is None:
        return ()
    labels = pod.record.labels
    defaults = (_chosen(spread_of(each, labels), pod.owner) for each in profile.spread)
    return tuple(each for each in defaults if each.hard is hard)


def _chosen(spread: Spread, selector: tuple[Expression, ...]) -> Spread:
    return Spread(
        spread.key, spread.max_skew, spread.hard, selector, spread.min_domains, spread.honors_affinity,
        spread.honors_taints,
    )  # fmt: skip


def _counts(pod: PodFacts, spread: Spread, node: NodeState, nodes: Nodes) -> int:
    """Return the number of pods of a node that a constraint selects, without terminating ones."""
    if not spread.selector:
        return 0
    return sum(_selects(pod, spread, other) and not nodes.is_terminating(other.uid) for other in node.pods.values())


def _selects(pod: PodFacts, spread: Spread, other: PodFacts) -> bool:
    record = other.record
    return record.namespace == pod.record.namespace and all(matches(e, record.labels) for e in spread.selector or ())


def _takes_part(pod: PodFacts, spread: Spread, node: NodeState) -> bool:
    if spread.honors_affinity and not selected(pod.record, node.record):
        return False
    return not spread.honors_taints or tolerates(pod.record, node.record)


class HardSpread:
    """The precomputed state of a pod's hard constraints."""

    def __init__(
        self, pod: PodFacts, profile: Profile, nodes: Nodes, uncounted: tuple[str, Sequence[PodFacts]]
    ) -> None:
        self._pod = pod
        self._spreads = spread_constraints(pod, profile, hard=True)
        self._found: list[dict[str, int]] = [{} for _ in self._spreads]
        for node in nodes.all if self._spreads else ():
            labels = node.record.labels
            if any(spread.key not in labels for spread in self._spreads):
                continue
            for found, spread in zip(self._found, self._spreads, strict=True):
                if _takes_part(pod, spread, node):
                    value = labels[spread.key]
                    found[value] = found.get(value, 0) + _counts(pod, spread, node, nodes)
                    if node.name == uncounted[0]:
                        found[value] -= sum(_selects(pod, spread, other) for other in uncounted[1])

    def filter_status(self, node: NodeState) -> str | None:
        """Return why a node does not fit the pod, or None."""
        labels = node.record.labels
        for found, spread in zip(self._found, self._spreads, strict=True):
            value = labels.get(spread.key)
            if value is None:
                return NO_LABEL
            least = min(found.values(), default=0) if len(found) >= spread.min_domains else 0
            itself = spread.selector is not None and all(matches(e, self._pod.record.labels) for e in spread.selector)
            if found.get(value, 0) + itself - least > spread.max_skew:
                return NO_MATCH
        return None


def spread_scores(pod: PodFacts, profile: Profile, fitting: Sequence[NodeState], nodes: Nodes) -> list[int] | None:
    """Return the score of each feasible node by the pod's soft constraints; None if it has none."""
    spreads = spread_constraints(pod, profile, hard=False)
    if not spreads:
        return None
    needs_all = bool(pod.spreads) or not profile.is_system_spread
    ignored = {
        node.name for node in fitting if needs_all and any(spread.key not in node.record.labels for spread in spreads)
    }
    taking_part = [node for node in fitting if node.name not in ignored]
    has_all = [
        node for node in nodes.all if not needs_all or all(spread.key in node.record.labels for spread in spreads)
    ]
    found = [_found(pod, spread, taking_part, has_all, nodes) for spread in spreads]
    sizes = [
        len(taking_part) if spread.key == HOSTNAME_LABEL else len(counts)
        for spread, counts in zip(spreads, found, strict=True)
    ]
    raw: list[int | None] = []
    for node in fitting:
        if node.name in ignored:
            raw.append(None)
            continue
        score = 0.0
        for spread, counts, size in zip(spreads, found, sizes, strict=True):
            value = node.record.labels.get(spread.key)
            if value is not None:
                count = _counts(pod, spread, node, nodes) if spread.key == HOSTNAME_LABEL else counts[value]
                score += count * math.log(size + 2) + (spread.max_skew - 1)
        raw.append(math.floor(score + 0.5))
    known = [score for score in raw if score is not None]
    least, most = min(known, default=0), max(known, default=0)
    return [0 if score is None else _MOST if most == 0 else _MOST * (most + least - score) // most for score in raw]


def _found(
    pod: PodFacts, spread: Spread, fitting: Sequence[NodeState], having_all: Sequence[NodeState], nodes: Nodes
) -> Mapping[str, int]:
    """Return the number of selected pods by value of a constraint's label, for values of feasible nodes."""
    if spread.key == HOSTNAME_LABEL:
        return {}
    counts = {node.record.labels.get(spread.key, ""): 0 for node in fitting}
    for node in having_all:
        value = node.record.labels.get(spread.key, "")
        if value in counts and _takes_part(pod, spread, node):
            counts[value] += _counts(pod, spread, node, nodes)
    return counts

"""kube-scheduler's facts about a pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apportion_runtime.core.pod_constraints import Expression, NodeTerm, PodTerm
from apportion_runtime.core.snapshot import Pod
from apportion_runtime.sim.scenario.format import Manifest
from apportion_runtime.snapshots.kubernetes.terms import expressions, label_selector
from apportion_runtime.snapshots.pod_requests import (
    CPU,
    GPUS,
    MEMORY,
    Amounts,
    counted_requests,
    is_requested_as_a_whole,
    pod_requests,
)

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
DO_NOT = "DoNotSchedule"


@dataclass(frozen=True, slots=True)
class Spread:
    """A topology spread constraint."""

    key: str
    max_skew: int
    hard: bool
    selector: tuple[Expression, ...] | None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


@dataclass(frozen=True, slots=True)
class PodFacts:
    """A pod: its record, requests and preferences.

    `nonzero` are millicores and bytes that scores count for it, and `counted` those once it is on a node; `owner` selects the pods of its ReplicaSet or StatefulSet,
    for a profile's default spread.
    """

    record: Pod
    request: Amounts
    nonzero: tuple[int, int]
    counted: tuple[int, int]
    priority: int
    may_preempt: bool
    spreads: tuple[Spread, ...]
    preferred_nodes: tuple[tuple[int, NodeTerm], ...]
    preferred_pods: tuple[tuple[int, PodTerm], ...]
    """A negative weight is a preferred anti-affinity."""
    owner: tuple[Expression, ...] | None
    gpus: float
    """Requested devices."""
    classes: list[object] = field(default_factory=list, compare=False, repr=False)
    """The equivalence class once it is known, shared with copies that have another record of the pod."""

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.record.uid

    def with_record(self, record: Pod) -> PodFacts:
        """Return the facts with another record: of the pod later, or of a pod with the same spec."""
        # `dataclasses.replace` takes twice as long.
        return PodFacts(
            record, self.request, self.nonzero, self.counted, self.priority, self.may_preempt, self.spreads, self.preferred_nodes,
            self.preferred_pods, self.owner, self.gpus, self.classes,
        )  # fmt: skip


def pod_facts(
    made: Manifest, record: Pod, *, priority: int, may_preempt: bool, owner: tuple[Expression, ...] | None = None
) -> PodFacts:
    """Return the facts of a pod. Raises `ValueError` for an invalid amount."""
    spec = made["spec"]
    affinity = spec.get("affinity") or {}
    request, nonzero = pod_requests(spec), pod_requests(spec, nonzero=True)
    counted = counted_requests(spec) if is_requested_as_a_whole(spec) else nonzero
    return PodFacts(
        record=record,
        request=request,
        nonzero=(nonzero.get(CPU, 0), nonzero.get(MEMORY, 0)),
        counted=(counted.get(CPU, 0), counted.get(MEMORY, 0)),
        priority=priority,
        may_preempt=may_preempt,
        spreads=tuple(spread_of(each, record.labels) for each in spec.get("topologySpreadConstraints") or ()),
        preferred_nodes=preferred_nodes((affinity.get("nodeAffinity") or {}).get(_PREFERRED)),
        preferred_pods=tuple((each.weight, each.term) for each in record.pod_preferences),
        owner=owner,
        gpus=float(sum(request.get(name, 0) for name in GPUS)),
    )


def spread_of(written: Mapping[str, Any], labels: Mapping[str, str]) -> Spread:
    """Return a constraint from a pod or from the defaults of a profile."""
    selector = label_selector(written.get("labelSelector"))
    keys = [key for key in written.get("matchLabelKeys") or () if key in labels]
    if selector is not None:
        selector = (*selector, *(Expression(key, "In", (labels[key],)) for key in keys))
    return Spread(
        key=str(written.get("topologyKey") or ""),
        max_skew=int(written.get("maxSkew") or 1),
        hard=written.get("whenUnsatisfiable", DO_NOT) == DO_NOT,
        selector=selector,
        min_domains=int(written.get("minDomains") or 1),
        honors_affinity=written.get("nodeAffinityPolicy", "Honor") == "Honor",
        honors_taints=written.get("nodeTaintsPolicy", "Ignore") == "Honor",
    )


def preferred_nodes(written: Sequence[Mapping[str, Any]] | None) -> tuple[tuple[int, NodeTerm], ...]:
    """Return preferred node terms with their weights."""
    return tuple(
        (
            int(each.get("weight") or 0),
            NodeTerm(
                expressions((each.get("preference") or {}).get("matchExpressions")),
                expressions((each.get("preference") or {}).get("matchFields")),
            ),
        )
        for each in written or ()
    )

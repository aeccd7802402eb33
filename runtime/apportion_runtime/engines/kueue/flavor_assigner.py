"""The flavor assigner: assigns a flavor to each resource of a workload, the first that fits or the best with
preemption.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/flavorassigner/flavorassigner.go, preemption/preemption_oracle.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from apportion_api.kueue.names import NEVER, NEXT_FLAVOR, PREEMPTION_OVER_BORROWING
from apportion_api.kueue.objects import Fungibility, ResourceFlavor, ResourceGroup
from apportion_api.quantities import canonical_text
from apportion_runtime.core.label_requirements import matches
from apportion_runtime.core.pod_constraints import Toleration
from apportion_runtime.engines.kueue.quota_tree import FlavorResource
from apportion_runtime.engines.kueue.records import Pending, PodSet, Queue
from apportion_runtime.engines.kueue.usage_tree import UsageTree
from apportion_runtime.snapshots.kubernetes.terms import node_terms, tolerations

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_KEEPING_OFF = ("NoSchedule", "NoExecute")
_PODS = "pods"
_WORST = 10**9
"""The distance for which borrowing is impossible."""


class Mode(IntEnum):
    """The modes of a flavor assignment, the worst first; RECLAIM preempts only workloads of other queues."""

    NO_FIT = 0
    NO_CANDIDATES = 1
    PREEMPT = 2
    RECLAIM = 3
    FIT = 4


Simulate = Callable[[FlavorResource, int], tuple[Mode, int]]
"""Returns whether preemption would free an amount, and the borrowing distance then."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A comparison of a request with the quota of a flavor.

    Attributes:
        amount: The requested amount, including that of previous pod sets.
        mode: The result.
        shows_left: Whether the message contains the amount that is missing.
        is_impossible: Whether the amount exceeds what the queue could ever use.
    """

    fr: FlavorResource
    amount: int
    mode: Mode
    shows_left: bool = False
    is_impossible: bool = False


@dataclass(frozen=True, slots=True)
class _FlavorChoice:
    """The assignment of one resource, and the flavor at which the next attempt of its group continues."""

    flavor: str
    mode: Mode
    borrowing: int
    next_flavor: int = 0


@dataclass(slots=True)
class Assignment:
    """The assignment of a workload.

    Attributes:
        flavors: By pod set and resource. A pod set without an assignment is omitted.
        usage: The total usage.
        requested: The usage for which preemption makes room: without the number of pods, which Kueue leaves out
            (Assignment.TotalRequestsFor).
        borrowing: The largest borrowing distance; 0 without borrowing.
        message: Why it does not fit, if it does not.
        pod_sets: The pod sets of the workload, with reduced counts under partial admission.
    """

    flavors: dict[str, dict[str, str]] = field(default_factory=dict)
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    requested: dict[FlavorResource, int] = field(default_factory=dict)
    contested: set[FlavorResource] = field(default_factory=set)
    mode: Mode = Mode.FIT
    borrowing: int = 0
    message: str = ""
    next_flavor: dict[tuple[str, str], int] = field(default_factory=dict)
    pod_sets: tuple[PodSet, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the workload fits without preemption."""
        return self.mode is Mode.FIT


class FlavorAssigner:
    """Assigns flavors to one workload.

    Args:
        queue: Its ClusterQueue.
        ledger: The usage.
        flavors: All flavors, by name.
        shares_fairly: Whether fair sharing is enabled.
        simulate: Simulates preemption.

    Attributes:
        quoted: The comparisons of the last assignment.
    """

    def __init__(
        self,
        queue: Queue,
        ledger: UsageTree,
        flavors: Mapping[str, ResourceFlavor],
        *,
        shares_fairly: bool,
        simulate: Simulate,
    ) -> None:
        self._queue = queue
        self._ledger = ledger
        self._flavors = flavors
        self._simulate = simulate
        self.quoted: list[Quoted] = []
        preemption = queue.preemption
        self._evicts_while_borrowing = preemption.borrowing != NEVER or (shares_fairly and preemption.reclaim != NEVER)

    def assign(self, workload: Pending) -> Assignment:
        """Return the assignment of a workload."""
        made = Assignment(pod_sets=workload.pod_sets)
        self.quoted = []
        for pod_set in workload.pod_sets:
            requests = dict(pod_set.requests)
            if self._queue.group_of(_PODS) is not None:
                requests[_PODS] = pod_set.count
            given, reasons = self._of_pod_set(workload, pod_set, requests, made.usage)
            if given is None:
                made.mode = Mode.NO_FIT
                made.message = _message(pod_set, reasons)
                return made
            self._add(made, pod_set, requests, given)
            if reasons:
                # Without reasons, a pod set counts as fitting even if a resource of its flavor requires preemption, which
                # is possible if preemption is preferred over borrowing (PodSetAssignment.RepresentativeMode).
                made.mode = min(made.mode, *(each.mode for each in given.values()))
            if reasons and any(each.mode is not Mode.FIT for each in given.values()):
                made.message = "; ".join(filter(None, (made.message, _message(pod_set, reasons))))
        return made

    @staticmethod
    def _add(
        made: Assignment, pod_set: PodSet, requests: Mapping[str, int], given: Mapping[str, _FlavorChoice]
    ) -> None:
        made.flavors[pod_set.name] = {resource: each.flavor for resource, each in given.items()}
        for resource, each in given.items():
            fr = (each.flavor, resource)
            made.usage[fr] = made.usage.get(fr, 0) + requests[resource]
            if amount := pod_set.requests.get(resource, 0):
                made.requested[fr] = made.requested.get(fr, 0) + amount
            made.borrowing = max(made.borrowing, each.borrowing)
            made.next_flavor[pod_set.name, resource] = each.next_flavor
            if each.mode is not Mode.FIT:
                made.contested.add(fr)

    def _of_pod_set(
        self, workload: Pending, pod_set: PodSet, requests: Mapping[str, int], assumed: Mapping[FlavorResource, int]
    ) -> tuple[dict[str, _FlavorChoice] | None, list[str]]:
        given: dict[str, _FlavorChoice] = {}
        reasons: list[str] = []
        for resource in sorted(requests):
            group = self._queue.group_of(resource)
            if resource in given or (group is None and not requests[resource]):
                continue
            if group is None:
                return None, [f"resource {resource} unavailable in ClusterQueue"]
            first = workload.next_flavor.get((pod_set.name, resource), 0)
            found, why = self._of_group(pod_set, group, requests, assumed, first)
            reasons += why
            if not found:
                return None, why
            given.update(found)
        return given, reasons

    def _of_group(
        self,
        pod_set: PodSet,
        group: ResourceGroup,
        requests: Mapping[str, int],
        assumed: Mapping[FlavorResource, int],
        first: int,
    ) -> tuple[dict[str, _FlavorChoice], list[str]]:
        """Return the assignment of a resource group, which has one flavor, and why better flavors were rejected."""
        wanted = {resource: requests[resource] for resource in sorted(requests) if resource in group.resources}
        best: dict[str, _FlavorChoice] = {}
        best_mode, best_borrowing = Mode.NO_FIT, _WORST
        reasons: list[str] = []
        tried = -1
        for tried in range(first, len(group.flavors)):
            name = group.flavors[tried].flavor
            if why := mismatch(pod_set.template, name, self._flavors.get(name)):
                reasons.append(why)
                continue
            found, mode, borrowing, why_not = self._of_flavor(name, wanted, assumed)
            reasons += why_not
            if not _goes_on(mode, borrowing, self._queue.fungibility):
                best, best_mode = found, mode
                break
            if _is_better((mode, borrowing), (best_mode, best_borrowing), self._queue.fungibility):
                best, best_mode, best_borrowing = found, mode, borrowing
        following = 0 if tried == len(group.flavors) - 1 else tried + 1
        best = {name: _FlavorChoice(each.flavor, each.mode, each.borrowing, following) for name, each in best.items()}
        return best, [] if best_mode is Mode.FIT else reasons

    def _of_flavor(
        self, name: str, wanted: Mapping[str, int], assumed: Mapping[FlavorResource, int]
    ) -> tuple[dict[str, _FlavorChoice], Mode, int, list[str]]:
        found: dict[str, _FlavorChoice] = {}
        worst, furthest = Mode.FIT, 0
        reasons: list[str] = []
        for resource, amount in wanted.items():
            fr = (name, resource)
            mode, borrowing, why = self._of_quota(fr, assumed.get(fr, 0), amount)
            reasons += [why] if why else []
            if _is_better((worst, furthest), (mode, borrowing), self._queue.fungibility):
                worst, furthest = mode, borrowing
            if worst is Mode.NO_FIT:
                return {}, worst, furthest, reasons
            found[resource] = _FlavorChoice(name, mode, borrowing)
        return found, worst, furthest, reasons

    def _of_quota(self, fr: FlavorResource, assumed: int, amount: int) -> tuple[Mode, int, str]:
        ledger, queue = self._ledger, self._queue
        flavor, resource = fr
        left, most = ledger.left(queue.name, fr), ledger.potential(queue.name, fr)
        total = assumed + amount
        if total > most:
            why = (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests "
                f"({amount_text(resource, assumed)}) + current podset request ({amount_text(resource, amount)}) > "
                f"maximum capacity ({amount_text(resource, most)})"
            )
            self.quoted.append(Quoted(fr, total, Mode.NO_FIT, is_impossible=True))
            return Mode.NO_FIT, 0, why
        borrowing, may_reclaim = ledger.borrowing_height(queue.name, fr, total)
        if total <= left:
            self.quoted.append(Quoted(fr, total, Mode.FIT))
            return Mode.FIT, borrowing, ""
        why = (
            f"insufficient unused quota for {resource} in flavor {flavor}, "
            f"{amount_text(resource, total - left)} more needed"
        )
        is_own = ledger.quota_of(queue.name, fr).nominal >= total
        if is_own or may_reclaim or self._evicts_while_borrowing:
            mode, borrowing = self._simulate(fr, total)
            self.quoted.append(Quoted(fr, total, mode, shows_left=True))
            return mode, borrowing, why
        self.quoted.append(Quoted(fr, total, Mode.NO_FIT, shows_left=True))
        return Mode.NO_FIT, borrowing, why


def _goes_on(mode: Mode, borrowing: int, fungibility: Fungibility) -> bool:
    """Return whether the next flavor is tried."""
    if mode <= Mode.NO_CANDIDATES:
        return True
    if mode in (Mode.PREEMPT, Mode.RECLAIM) and fungibility.when_can_preempt == NEXT_FLAVOR:
        return True
    return borrowing > 0 and fungibility.when_can_borrow == NEXT_FLAVOR


def _is_better(one: tuple[Mode, int], other: tuple[Mode, int], fungibility: Fungibility) -> bool:
    if one[0] is Mode.NO_FIT or other[0] is Mode.NO_FIT:
        return one[0] is not Mode.NO_FIT
    if fungibility.preference == PREEMPTION_OVER_BORROWING:
        return (-one[1], one[0]) > (-other[1], other[0])
    return (one[0], -one[1]) > (other[0], -other[1])


def mismatch(template: Mapping[str, Any], name: str, flavor: ResourceFlavor | None) -> str:
    """Return why pods cannot use a flavor regardless of quota; empty if they can."""
    if flavor is None:
        return f"flavor {name} not found"
    spec = template.get("spec") or {}
    passed = (*tolerations(spec.get("tolerations")), *tolerations(flavor.tolerations))
    for taint in flavor.taints:
        if taint.get("effect") in _KEEPING_OFF and not any(_tolerates(each, taint) for each in passed):
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"untolerated taint {{{taint.get('key')}{value} {taint.get('effect')}}} in flavor {name}"
    return "" if _selects(spec, flavor.labels) else f"flavor {name} doesn't match node affinity"


def _tolerates(toleration: Toleration, taint: Mapping[str, Any]) -> bool:
    if toleration.effect and toleration.effect != taint.get("effect"):
        return False
    if toleration.key and toleration.key != taint.get("key"):
        return False
    return toleration.operator == "Exists" or (bool(toleration.key) and toleration.value == (taint.get("value") or ""))


def _selects(spec: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether the node selectors of pods match some labels, considering only these keys."""
    selector = spec.get("nodeSelector") or {}
    if any(labels[key] != value for key, value in selector.items() if key in labels):
        return False
    terms = node_terms(((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED))
    if terms is None:
        return True
    matching = [[each for each in term.expressions if each.key in labels] for term in terms]
    # A term without these keys matches any of their values, and terms are alternatives.
    return not all(matching) or any(all(matches(each, labels) for each in term) for term in matching)


def _message(pod_set: PodSet, reasons: list[str]) -> str:
    return f"couldn't assign flavors to pod set {pod_set.name}: {', '.join(sorted(reasons))}"


def amount_text(resource: str, amount: int) -> str:
    """Return an amount as a Kubernetes quantity: cpu in millicores, other resources in units."""
    return canonical_text(amount * (10**6 if resource == "cpu" else 10**9), is_binary=resource == "memory")

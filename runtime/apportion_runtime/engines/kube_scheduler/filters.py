"""kube-scheduler's filters, in order, with their messages.

Selectors, tolerations and inter-pod affinity are shared with the scheduler core.

Source: pkg/scheduler/framework/plugins at v1.36.3: nodeunschedulable, tainttoleration, nodeaffinity, nodeports,
noderesources/fit.go, podtopologyspread, interpodaffinity.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_runtime.core.plugins.pod_affinity import affinity_state
from apportion_runtime.core.plugins.predicates import matches_terms, selected
from apportion_runtime.core.snapshot import Node
from apportion_runtime.engines.kube_scheduler.filter_status import FilterStatus
from apportion_runtime.engines.kube_scheduler.node_taints import tolerates, tolerates_unschedulable
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.pods import PodFacts
from apportion_runtime.engines.kube_scheduler.profiles import Profile
from apportion_runtime.engines.kube_scheduler.topology_spread import NO_LABEL, HardSpread

UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
NOT_SELECTED = "node(s) didn't match Pod's node affinity/selector"
NOT_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY = "Too many pods"
EXISTING_ANTI_AFFINITY_RULES = "node(s) didn't satisfy existing pods anti-affinity rules"
ANTI_AFFINITY_RULES = "node(s) didn't match pod anti-affinity rules"
ALONE = "node(s) didn't match pod affinity rules"
NOT_NAMED = FilterStatus((NOT_SELECTED,), for_good=True)


class Filters:
    """The filters prepared for one pod; valid until pods change.

    Args:
        pod: The pod.
        profile: Its profile.
        nodes: All nodes.
        skips_company: Whether InterPodAffinity is skipped.
        uncounted: A node, and pods that PodTopologySpread subtracts there.
    """

    def __init__(
        self,
        pod: PodFacts,
        profile: Profile,
        nodes: Nodes,
        *,
        skips_company: bool = False,
        uncounted: tuple[str, Sequence[PodFacts]] = ("", ()),
    ) -> None:
        self._pod = pod
        self._profile = profile
        self._on = profile.filters
        self._spread = HardSpread(pod, profile, nodes, uncounted) if "PodTopologySpread" in self._on else None
        self._company = None
        record = pod.record
        self._fixed = nodes.fixed(
            (
                self._on, profile.added_terms, record.tolerations, tuple(record.node_selector.items()),
                record.node_affinity,
            )
        )  # fmt: skip
        self.checks_resources = "NodeResourcesFit" in self._on
        self.is_lasting = not (
            pod.spreads or pod.owner or record.affinity or record.anti_affinity or nodes.has_anti_affinity
        )
        """Whether the result is independent of other pods, unless one of them has anti-affinity."""
        has_terms = bool(record.affinity or record.anti_affinity)
        if "InterPodAffinity" in self._on and not skips_company and (has_terms or nodes.has_anti_affinity):
            by_uid = {uid: other.record for state in nodes.all for uid, other in state.pods.items()}
            self._company = affinity_state(record, nodes, by_uid)
        self.skips_company = not has_terms and not (self._company and self._company.existing_anti_affinity_domains)
        """Whether PreFilter of InterPodAffinity skips the plugin, also for pods that are added or removed afterwards."""

    def filter_status(self, node: NodeState) -> FilterStatus | None:
        """Return why a node does not fit the pod, from the first failing filter; None if it fits."""
        pod = self._pod.record
        fixed = self.fixed_status(node)
        if fixed is not None:
            return fixed
        if "NodePorts" in self._on and pod.host_ports and ports_taken(self._pod, node):
            return FilterStatus((PORTS_TAKEN,))
        if self.checks_resources:
            lacking = resources_lacking(self._pod, node, self._profile)
            if lacking is not None:
                return lacking
        if self._spread is not None:
            message = self._spread.filter_status(node)
            if message is not None:
                return FilterStatus((message,), for_good=message == NO_LABEL)
        return self._without_company(node)

    def fixed_status(self, node: NodeState) -> FilterStatus | None:
        """Return why a node does not fit the pod regardless of the pods on it, from the leading filters."""
        known = self._fixed.get(node.name)
        if known is None or known[0] is not node.record:
            known = self._fixed[node.name] = (node.record, self._fixed_status(node.record))
        return known[1]

    def _fixed_status(self, record: Node) -> FilterStatus | None:
        pod = self._pod.record
        if "NodeUnschedulable" in self._on and record.unschedulable and not tolerates_unschedulable(pod):
            return FilterStatus((UNSCHEDULABLE,), for_good=True)
        if "TaintToleration" in self._on and not tolerates(pod, record):
            return FilterStatus((TAINTED,), for_good=True)
        if "NodeAffinity" in self._on:
            added = self._profile.added_terms
            if added is not None and not matches_terms(added, record):
                return FilterStatus((NOT_ENFORCED,), for_good=True)
            if not selected(pod, record):
                return FilterStatus((NOT_SELECTED,), for_good=True)
        return None

    def _without_company(self, node: NodeState) -> FilterStatus | None:
        state = self._company
        if state is None or state.allows(node.record):
            return None
        labels, pod = node.record.labels, self._pod.record
        wanted = [(term.topology_key, labels.get(term.topology_key)) for term in pod.affinity]
        if any(value is None for _, value in wanted) or (
            not state.is_first and not all(pair in state.affinity_domains for pair in wanted)
        ):
            return FilterStatus((ALONE,), for_good=True)
        if any(
            (term.topology_key, labels.get(term.topology_key)) in state.anti_affinity_domains
            for term in pod.anti_affinity
        ):
            return FilterStatus((ANTI_AFFINITY_RULES,))
        return FilterStatus((EXISTING_ANTI_AFFINITY_RULES,))


def resources_lacking(pod: PodFacts, node: NodeState, profile: Profile) -> FilterStatus | None:
    """Return the resources that a node lacks for a pod, or None."""
    reasons: list[str] = []
    for_good = False
    if not node.has_room:
        reasons.append(TOO_MANY)
    for name in node.lacking(pod.request):
        if not profile.checks(name):
            continue
        reasons.append(f"Insufficient {name}")
        for_good = for_good or pod.request[name] > node.allocatable.get(name, 0)
    return FilterStatus(tuple(reasons), for_good) if reasons else None


def ports_taken(pod: PodFacts, node: NodeState) -> bool:
    """Return whether a pod on a node uses a host port that a pod requests."""
    for other in node.pods.values():
        for address, protocol, port in other.record.host_ports:
            for own_address, own_protocol, own_port in pod.record.host_ports:
                meets = address == own_address or "0.0.0.0" in (address, own_address)  # noqa: S104 - any address.
                if (protocol, port) == (own_protocol, own_port) and meets:
                    return True
    return False

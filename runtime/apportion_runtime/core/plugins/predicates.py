"""The predicates (filters): on which nodes a pod may run.

Predicates that depend only on the pod's constraints are one mask, shared by all pods with the same constraints; those
that depend on running pods are evaluated node by node.

Source: pkg/scheduler/plugins/predicates/predicates.go, pkg/scheduler/k8s_internal/predicates/; Kubernetes' own filters
NodeAffinity, TaintToleration, NodePorts, InterPodAffinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from apportion_runtime.core.capacity import OverCapacity, over_capacity
from apportion_runtime.core.explain.amount_messages import largest_node_message
from apportion_runtime.core.label_requirements import matches
from apportion_runtime.core.node_fit import fits_request
from apportion_runtime.core.nodes import Mask
from apportion_runtime.core.plugins.gpu_choice import choose_devices
from apportion_runtime.core.plugins.pod_affinity import AffinityState, PodPreferences, affinity_state, has_affinity
from apportion_runtime.core.pod_constraints import NodeTerm, Taint, Toleration
from apportion_runtime.core.resources import CPU, GPU, MEMORY, PODS, Vector
from apportion_runtime.core.snapshot import Node, Pod
from apportion_runtime.core.task import MIG, REGULAR, Task

if TYPE_CHECKING:
    from apportion_runtime.core.job import Job
    from apportion_runtime.core.session import Session

_HARD_EFFECTS = ("NoSchedule", "NoExecute")
_RESERVATION_PODS = 2
"""The first pod on a shared device needs a pod slot for the reservation pod as well."""


class Predicates:
    """The predicates of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.is_on = "predicates" in session.plugins
        self._masks: dict[object, Mask] = {}
        self._any_affinity = any(pod.affinity or pod.anti_affinity for pod in session.snapshot.pods)
        self._any_ports = any(pod.host_ports for pod in session.snapshot.pods)
        nodes = session.nodes
        self._most = nodes.allocatable.max(axis=0) if len(nodes) else np.zeros(len(session.resources))
        self._too_large: dict[int, bool] = {}
        self._fits_empty: dict[tuple[int, int], bool] = {}
        self._by_uid: dict[str, Pod] = {pod.uid: pod for pod in session.snapshot.pods}
        self.preferences = PodPreferences(is_on="podaffinity" in session.plugins, by_uid=self._by_uid)
        self._skipped: set[str] = set()

    @property
    def skips_predicates(self) -> bool:
        """Whether the first attempt to place a pod decides which predicates it skips for the rest of the session."""
        return (self.is_on and self._any_affinity) or self.preferences.any

    @property
    def n_masks(self) -> int:
        """The number of distinct constraints of pods, also of those that are gone."""
        return len(self._masks)

    def begin_cycle(self) -> None:
        """Forget which pods skip predicates."""
        self._skipped.clear()
        self.preferences.begin_cycle()

    def note(self, pod: Pod) -> None:
        """Record a pod that was added or changed."""
        self._by_uid[pod.uid] = pod
        self._any_affinity = self._any_affinity or bool(pod.affinity or pod.anti_affinity)
        self._any_ports = self._any_ports or bool(pod.host_ports)
        self.preferences.note(pod)

    def replace(self, pod: Pod) -> None:
        """Replace the record of a pod that differs from the former at most in its state, or has no constraints by pods."""
        self._by_uid[pod.uid] = pod

    def forget(self, uid: str) -> None:
        """Forget a pod."""
        self._by_uid.pop(uid, None)

    def blocked(self, task: Task) -> str | None:
        """Return why a pod fails before any node is tried (PreFilter), or None."""
        if not self.is_on:
            return None
        if self._may_be_unresolvable(task):
            pod = task.pod
            message = "".join(f"{name}: {why}.\n" for name, why in self._unresolvable_reasons(task))
            return f"Scheduling conditions were not met for pod {pod.namespace}/{pod.name}:\n{message}"
        return self._session.claims.blocked(task, self._session.jobs[task.job])

    def unresolvable(self, task: Task) -> str | None:
        """Return why no eviction could help a pod, or None; resource claims are not considered."""
        if not self.is_on or not self._may_be_unresolvable(task):
            return None
        return next(self._unresolvable_reasons(task))[1]

    def _may_be_unresolvable(self, task: Task) -> bool:
        pod = task.pod
        if pod.missing_claims or pod.missing_config_maps:
            return True
        if len(pod.claims) > 1:
            return bool((self._asked(task) > self._most).any())
        known = self._too_large.get(task.shape)
        if known is None:
            known = self._too_large[task.shape] = bool((self._asked(task) > self._most).any())
        return known

    def _asked(self, task: Task) -> Vector:
        """Return a pod's request, with MIG instances by annotation only, and without claims that do not count."""
        if not task.gpu.mig:
            counted = self._session.claims.counted(task.pod) if len(task.pod.claims) > 1 else None
            if counted is None:
                return task.request
            asked = task.request.copy()
            asked[GPU] = task.gpu.gpus + counted
            return asked
        asked = task.request.copy()
        for name, count in task.gpu.mig:
            place = self._session.resources.get(name)
            if place >= 0:
                asked[place] = count
        return asked

    def _unresolvable_reasons(self, task: Task) -> Iterator[tuple[str, str]]:
        pod = task.pod
        if pod.missing_claims:
            yield "VolumeBinding", f'persistentvolumeclaim "{pod.missing_claims[0]}" not found'
        if pod.missing_config_maps:
            yield "ConfigMap", f"Missing required configmaps: [{' '.join(pod.missing_config_maps)}]"
        asked = self._asked(task)
        over = [r for r in (GPU, CPU, MEMORY, *range(len(asked))) if asked[r] > self._most[r]]
        if over:
            most = float(self._most[over[0]])
            yield "MaxNodePoolResources", largest_node_message(task, self._session.resources, over[0], most)

    def prepare(self, task: Task) -> AffinityState | None:
        """Return the affinity state of all nodes for a pod, before nodes are tried one by one (PreFilter).

        A pod without terms, to which no running pod has anti-affinity at the first call, skips this predicate for the
        rest of the session, even if such a pod is placed later (plugins/predicates/predicates.go:skipPredicates).
        """
        if not self.is_on or not self._any_affinity or task.uid in self._skipped:
            return None
        state = affinity_state(task.pod, self._session.nodes, self._by_uid)
        if not has_affinity(task.pod) and not state.existing_anti_affinity_domains:
            self._skipped.add(task.uid)
            return None
        return state

    def mask(self, task: Task) -> Mask:
        """Return the nodes that match a pod's constraints: the same array for pods with the same constraints."""
        if task.mask is not None:
            return task.mask
        pod = task.pod
        key = (
            task.kind, task.needs_gpu, pod.legacy_mig, pod.gpu.memory > 0, tuple(sorted(pod.node_selector.items())),
            pod.node_affinity, pod.tolerations,
        )  # fmt: skip
        known = self._masks.get(key)
        if known is None:
            known = self._masks[key] = self._mask(task)
        task.mask = known
        return known

    def fits_empty_node(self, task: Task) -> bool:
        """Return whether a node that matches a pod's constraints has the CPU, memory, … for it when no pod is there.

        GPUs are not compared: after failed searches, the engine may count more free devices than a node has.
        """
        nodes = self._session.nodes
        if not nodes.is_whole:
            # Sums of fractions of cores may exceed the node's amount by rounding.
            return True
        mask = self.mask(task)
        key = (task.shape, id(mask))
        known = self._fits_empty.get(key)
        if known is None:
            fitting = mask & fits_request(task.request, nodes.most_free(), but=GPU)
            known = self._fits_empty[key] = bool(fitting.any())
        return known

    def affinity_mask(self, task: Task) -> Mask:
        """Return the nodes that match a pod's node selector and affinity."""
        pod = task.pod
        key = (tuple(sorted(pod.node_selector.items())), pod.node_affinity)
        known = self._masks.get(key)
        if known is None:
            nodes = self._session.nodes.nodes
            known = self._masks[key] = np.array([selected(pod, node) for node in nodes], dtype=bool)
        return known

    def _mask(self, task: Task) -> Mask:
        nodes = self._session.nodes
        if not self.is_on:
            return np.ones(len(nodes), dtype=bool)
        if task.pod.legacy_mig:
            return np.zeros(len(nodes), dtype=bool)
        mask: Mask = nodes.ready.copy()
        if task.pod.gpu.memory > 0:
            mask = mask & nodes.knows_memory
        for i in map(int, np.flatnonzero(mask)):
            node = nodes.nodes[i]
            mask[i] = (
                kind_mismatch(task, i, self._session) is None and tolerated(task.pod, node) and selected(task.pod, node)
            )
        return mask

    def over_capacity(self, task: Task, job: Job, i: int) -> OverCapacity | None:
        """Return the limit or quota that a pod would exceed on a node, whose device memory determines the charge."""
        session = self._session
        if not session.keeps_shares or not self.is_on:
            return None
        return over_capacity(session.shares, job, session.nodes.quota_on(task, i))

    def allows(self, task: Task, i: int, state: AffinityState | None) -> bool:
        """Return whether a node passes the predicates that depend on its running pods."""
        if not self.is_on:
            return True
        session = self._session
        nodes = session.nodes
        if not session.claims.allows(task, i):
            return False
        if task.kind == MIG and i in nodes.legacy_mig:
            return False
        if self.lacks_pods(task, i) or self.ports_taken(task, i):
            return False
        return state is None or state.allows(nodes.nodes[i])

    def lacks_pods(self, task: Task, i: int) -> bool:
        """Return whether a node has no slot for the pod, or for the reservation pod of a newly shared device."""
        session = self._session
        nodes = session.nodes
        free_pods = nodes.idle[i, PODS] + nodes.releasing[i, PODS]
        if not task.shares_gpu:
            return bool(free_pods <= 0)
        if free_pods >= _RESERVATION_PODS:
            return False
        chosen = choose_devices(session, task, i, pipeline_only=False)
        if chosen is None or chosen.is_releasing:
            chosen = choose_devices(session, task, i, pipeline_only=True)
        return chosen is None or any(not group.isdecimal() for group in chosen.groups)

    def pod(self, uid: str) -> Pod | None:
        """Return a pod of the snapshot by its id."""
        return self._by_uid.get(uid)

    def ports_taken(self, task: Task, i: int) -> bool:
        """Return whether a pod on a node has a port of the host that a pod requests."""
        if not self._any_ports or not task.pod.host_ports:
            return False
        for uid in self._session.nodes.entries[i]:
            for address, protocol, port in self._by_uid[uid].host_ports if uid in self._by_uid else ():
                for own_address, own_protocol, own_port in task.pod.host_ports:
                    meets = address == own_address or "0.0.0.0" in (address, own_address)  # noqa: S104 - any address.
                    if (protocol, port) == (own_protocol, own_port) and meets:
                        return True
        return False


def kind_mismatch(task: Task, i: int, session: Session) -> str | None:
    """Return why a node's kind of GPUs does not match a pod's request, or None.

    Source: pkg/scheduler/api/node_info/node_info.go (PredicateByNodeResourcesType).
    """
    nodes = session.nodes
    if task.pod.legacy_mig:
        return f"Legacy MIG jobs cannot be scheduled on node {nodes.names[i]}"
    if not task.needs_gpu:
        return None
    if nodes.has_dra[i] and task.shares_gpu:
        return "fractional/shared GPU pods are not yet supported on DRA-only nodes"
    if not nodes.mig[i]:
        return "MIG job cannot be scheduled on non-MIG node" if task.kind == MIG else None
    strategy = nodes.strategy[i]
    if strategy == "single" and task.kind != REGULAR:
        return "only whole gpu jobs can run on a node with MigStrategy='single'"
    if strategy == "mixed" and task.kind != MIG:
        return "non MIG jobs cant run on a node with MigStrategy='mixed'"
    return None


def tolerated(pod: Pod, node: Node) -> bool:
    """Return whether a pod tolerates every taint of a node that keeps pods off."""
    return all(
        taint.effect not in _HARD_EFFECTS or any(tolerates(toleration, taint) for toleration in pod.tolerations)
        for taint in node.taints
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration matches a taint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.operator in ("", "Equal") and toleration.value == taint.value


def selected(pod: Pod, node: Node) -> bool:
    """Return whether a pod's node selector and affinity match a node."""
    labels = node.labels
    if any(labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    return pod.node_affinity is None or matches_terms(pod.node_affinity, node)


def matches_terms(terms: Sequence[NodeTerm], node: Node) -> bool:
    """Return whether a node matches any of some terms."""
    return any(_term_fits(term, node) for term in terms)


def _term_fits(term: NodeTerm, node: Node) -> bool:
    # An empty term matches no node.
    if not term.expressions and not term.fields:
        return False
    return all(matches(e, node.labels) for e in term.expressions) and all(
        matches(e, {"metadata.name": node.name}) for e in term.fields
    )

"""Validation of ProvisioningRequests: their demand, and the limits of the provider.

Source: seed document 003 (limits of the Dynamic Workload Scheduler), GKE's documentation of queued provisioning, and
cluster-autoscaler's API autoscaling.x-k8s.io/v1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apportion_api.counted_nouns import counted
from apportion_runtime.admission.objects import name_of, nested, uid_of
from apportion_runtime.core.plugins.predicates import selected, tolerated
from apportion_runtime.core.pod_constraints import Taint
from apportion_runtime.core.snapshot import Node, Pod
from apportion_runtime.sim.kubelet.nodes import POOL_LABEL
from apportion_runtime.sim.scenario.format import Manifest, Pool
from apportion_runtime.snapshots.kubernetes.terms import required_nodes, tolerations
from apportion_runtime.snapshots.pod_requests import GPUS, PODS, amounts, pod_requests

GKE_CLASS = "queued-provisioning.gke.io"
GKE_POOL_LABEL = "cloud.google.com/gke-nodepool"
REQUEST_LABEL = "autoscaling.gke.io/provisioning-request"
QUEUED_TAINT: Mapping[str, str] = {"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"}
MAX_RUN = "maxRunDurationSeconds"
INVALID, QUOTA_EXCEEDED, NOT_FOUND = "InvalidRequest", "QuotaExceeded", "CapacityIsNotFound"


@dataclass(frozen=True, slots=True)
class RequestDemand:
    """The demand of a request."""

    pool: str
    nodes: int
    gpus: int
    run_s: float


@dataclass(frozen=True, slots=True)
class UnmetRequest:
    """Why a request cannot be met."""

    reason: str
    message: str


def check_request(
    request: Manifest, templates: Mapping[str, Manifest], pools: Sequence[Pool]
) -> RequestDemand | UnmetRequest:
    """Return the demand of a request, or why it fails.

    Args:
        request: The ProvisioningRequest.
        templates: The PodTemplates of its namespace, by name.
        pools: Those whose nodes come for whole requests.
    """
    pod_sets: Sequence[Mapping[str, Any]] = nested(request, "spec", "podSets") or ()
    if len(pod_sets) != 1:
        return UnmetRequest(
            INVALID, f"class {GKE_CLASS} supports one pod set per request; this request has {len(pod_sets)}"
        )
    name = str((pod_sets[0].get("podTemplateRef") or {}).get("name"))
    count = pod_sets[0].get("count")
    if name not in templates:
        return UnmetRequest(INVALID, f"PodTemplate {name} does not exist in its namespace")
    if not isinstance(count, int) or count < 1:
        return UnmetRequest(INVALID, f"count `{count}` is not a positive integer")
    spec = nested(templates[name], "template", "spec") or {}
    wants = pod_requests(spec)
    gpus = sum(wants.get(resource, 0) for resource in GPUS)
    if not gpus:
        return UnmetRequest(INVALID, "the pods request no GPUs, but queued provisioning provides only GPU nodes")
    fitting = [pool for pool in pools if _is_for(spec, pool)]
    sized = [(pool, each) for pool in fitting if (each := _pods_each(wants, pool))]
    if not sized:
        return UnmetRequest(NOT_FOUND, _no_pool(fitting, pools))
    pool, each = sized[0]
    return _sized(request, pool, -(-count // each))


def _sized(request: Manifest, pool: Pool, nodes: int) -> RequestDemand | UnmetRequest:
    queued = pool.queued
    assert queued is not None
    run = _run_s(request, queued.longest_s)
    if run is None or not queued.shortest_s <= run <= queued.longest_s:
        value = (nested(request, "spec", "parameters") or {}).get(MAX_RUN)
        return UnmetRequest(
            INVALID,
            f"{MAX_RUN} `{value}` is not between {queued.shortest_s:.0f} and {queued.longest_s:.0f} seconds",
        )
    if nodes > queued.nodes_per_request:
        return UnmetRequest(
            INVALID,
            f"the pods require {counted(nodes, 'node')}, but a request provides at most {queued.nodes_per_request:,}",
        )
    if nodes > pool.most:
        return UnmetRequest(
            NOT_FOUND, f"the pods require {counted(nodes, 'node')}, but node pool {pool.name} has at most {pool.most}"
        )
    return RequestDemand(pool.name, nodes, nodes * pool.shape.gpus, run)


def quota_message(pool: Pool, limit: int, region: str) -> str:
    """Return the provider's message for an exhausted quota."""
    model = pool.shape.labels.get("cloud.google.com/gke-accelerator") or pool.shape.labels.get(
        "apportion.dev/gpu-model"
    )
    name = f"NVIDIA_{model.removeprefix('nvidia-').upper().replace('-', '_')}_GPUS" if model else "GPUS_ALL_REGIONS"
    return f"Quota '{name}' exceeded. Limit: {limit:.1f} in region {region}."


def _run_s(request: Manifest, longest_s: float) -> float | None:
    value = (nested(request, "spec", "parameters") or {}).get(MAX_RUN)
    if value is None:
        return longest_s
    text = str(value)
    return float(text) if text.isascii() and text.isdigit() else None


def labels_of(pool: Pool) -> dict[str, str]:
    """Return the labels of a pool's nodes."""
    return {POOL_LABEL: pool.name, GKE_POOL_LABEL: pool.name, **pool.shape.labels}


def _is_for(spec: Manifest, pool: Pool) -> bool:
    taints = tuple(Taint(t.get("key", ""), t.get("value", ""), t.get("effect", "")) for t in pool.shape.taints)
    node = Node(pool.name, {}, labels_of(pool), taints)
    pod = Pod(
        "",
        "",
        "",
        None,
        node_selector={k: str(v) for k, v in (spec.get("nodeSelector") or {}).items() if k != REQUEST_LABEL},
        node_affinity=required_nodes(spec.get("affinity") or {}),
        tolerations=tolerations(spec.get("tolerations")),
    )
    return tolerated(pod, node) and selected(pod, node)


def _pods_each(wants: Mapping[str, int], pool: Pool) -> int:
    """Return the number of its pods that fit on a node."""
    has = amounts(pool.shape.allocatable)
    counted = {**wants, PODS: 1}
    return min(has.get(resource, 0) // amount for resource, amount in counted.items() if amount)


def _no_pool(fitting: Sequence[Pool], pools: Sequence[Pool]) -> str:
    if fitting:
        return f"at least one pod does not fit on any node of {', '.join(pool.name for pool in fitting)}"
    known = " or ".join(pool.name for pool in pools)
    return f"the pods select no node pool with queued provisioning; {f'select {known}' if known else 'no such pool exists'}"


def request_name(made: Manifest) -> str:
    """Return the label value for the nodes of a request, which differs for a recreated request of the same name."""
    return f"{name_of(made)[:54].rstrip('-.')}-{uid_of(made)[-8:]}"

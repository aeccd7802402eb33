"""Queued provisioning outside Kueue: nodes for a whole workload, requested as one unit, in one zone, all or none.

A ProvisioningRequest (autoscaling.x-k8s.io/v1) counts pods of a PodTemplate; GKE's class accepts one template only, so
the largest request of each resource is used for several. The workload's pods name the request by two annotations; the
request and the template are for a single run, because a request is immutable and nodes are not reused.

Source: kubernetes/autoscaler cluster-autoscaler/apis/provisioningrequest/autoscaling.x-k8s.io/v1/types.go at 55c37cd5eb
(annotations, bounds); Google's page on Dynamic Workload Scheduler, "without Kueue" (one template, 1,000 nodes).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from apportion_api.counted_nouns import agreeing, counted
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.bindings.binding import Binding
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.requests import Requests, largest, pod_requests, quantities
from apportion_compiler.bindings.workload_fields import annotate, gang_name, is_kind, templates
from apportion_compiler.ir.program import NodePool, ProvisioningPlan
from apportion_compiler.workload_shapes import Node, PodSet, found, pod_sets, section, sequence
from apportion_policy.provisioning import MAX_RUN_DURATION_PARAMETER, MAX_RUN_SECONDS, QUEUED_PROVISIONING_GKE
from apportion_policy.quantity import Unlimited
from apportion_policy.resources import CPU, GPU, MEMORY

API_VERSION = "autoscaling.x-k8s.io/v1"
CONSUME_ANNOTATION = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_ANNOTATION = "autoscaling.x-k8s.io/provisioning-class-name"

_MAX_NODES = 1_000
_KEPT_FIELDS = ("nodeSelector", "affinity", "tolerations")
_ON_A_MACHINE = {"cpu": CPU, "memory": MEMORY, GPU_RESOURCE: GPU}


def ask_for_nodes(binding: Binding, plan: ProvisioningPlan, workloads: Sequence[Node]) -> tuple[Node, Node]:
    """Return the PodTemplate and the ProvisioningRequest of workloads, and set the annotations of their pods.

    Raises:
        BindingError: If the plan's class does not support such pods.
    """
    sets = [pods for workload in workloads for pods in pod_sets(workload) if pods.count]
    if not sets:
        raise BindingError("the workload has no pods to request nodes for")
    if any(is_kind(workload, "batch", "CronJob") for workload in workloads):
        raise BindingError("a ProvisioningRequest provides nodes for one run, but a CronJob runs repeatedly")
    name = gang_name(binding)
    queued = plan.provisioning_class == QUEUED_PROVISIONING_GKE
    asked = largest(pod_requests(pods.spec) for pods in sets)
    count = sum(pods.count for pods in sets)
    if queued:
        _refuse_without_gpus(asked)
    _refuse_too_many(plan, [p for p in binding.program.pools if p.plan == plan.id], asked, count)
    for workload in workloads:
        for pods in templates(workload):
            annotate(pods, {CONSUME_ANNOTATION: name, CLASS_ANNOTATION: plan.provisioning_class})
    metadata = {"name": name, "namespace": binding.namespace}
    template: Node = {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": dict(metadata),
        "template": {"spec": _merged(sets, asked)},
    }
    spec: Node = {"provisioningClassName": plan.provisioning_class}
    parameters = _parameters(plan)
    if parameters:
        spec["parameters"] = parameters
    spec["podSets"] = [{"count": count, "podTemplateRef": {"name": name}}]
    request: Node = {
        "apiVersion": API_VERSION,
        "kind": "ProvisioningRequest",
        "metadata": dict(metadata),
        "spec": spec,
    }
    return template, request


def _parameters(plan: ProvisioningPlan) -> dict[str, str]:
    parameters = dict(plan.parameters)
    if plan.max_run_duration is not None:
        if plan.provisioning_class == QUEUED_PROVISIONING_GKE and plan.max_run_duration > MAX_RUN_SECONDS:
            raise BindingError(
                f"plan {plan.id} lets nodes run for {plan.max_run_duration} s; the maximum is seven days "
                f"({MAX_RUN_SECONDS} s)"
            )
        parameters[MAX_RUN_DURATION_PARAMETER] = str(plan.max_run_duration)
    return parameters


def _refuse_without_gpus(asked: Requests) -> None:
    if not asked.get(GPU_RESOURCE):
        raise BindingError("queued provisioning provides only GPU nodes, but no pod in the workload requests a GPU")


def _refuse_too_many(plan: ProvisioningPlan, pools: Sequence[NodePool], asked: Requests, count: int) -> None:
    fits = [_pods_per_node(pool, asked) for pool in pools]
    if not any(fits):
        pool = pools[0]
        held = ", ".join(f"{text} {name}" for name, text in quantities(_held(pool)).items())
        raise BindingError(
            f"the pods do not fit on any machine that plan {plan.id} provides: a machine in pool {pool.id} has {held}"
        )
    n_nodes = -(-count // max(fits))
    most = plan.max_nodes_per_request or _MAX_NODES
    if n_nodes > most:
        raise BindingError(
            f"{counted(count, 'pod')} {agreeing(count, 'needs', 'need')} {counted(n_nodes, 'node')}, but a single request under plan {plan.id} provides at most {most:,}"
        )


def _held(pool: NodePool) -> Requests:
    held = {name: pool.machine[resource] for name, resource in _ON_A_MACHINE.items() if resource in pool.machine}
    return {name: amount for name, amount in held.items() if not isinstance(amount, Unlimited)}


def _pods_per_node(pool: NodePool, asked: Requests) -> int:
    held = _held(pool)
    return min((held[name] // amount for name, amount in asked.items() if amount and name in held), default=1)


def _merged(sets: Sequence[PodSet], asked: Requests) -> Node:
    """Return the spec of one pod that represents all: the largest requests, and the common placement."""
    largest_set = max(sets, key=lambda pods: pod_requests(pods.spec).get(GPU_RESOURCE, 0))
    container = next(iter(sequence(largest_set.spec.get("containers"))), None)
    resources = quantities(asked)
    spec: Node = {
        "containers": [
            {
                "name": found({"c": container}, "c", "name") or "main",
                "image": found({"c": container}, "c", "image") or "registry.k8s.io/pause:3.10",
                "resources": {"requests": resources, "limits": dict(resources)},
            }
        ],
        "restartPolicy": "Never",
    }
    spec.update({name: deepcopy(largest_set.spec[name]) for name in _KEPT_FIELDS if name in largest_set.spec})
    for pods in sets:
        for key, value in section(pods.spec, "nodeSelector").items() if "nodeSelector" in pods.spec else ():
            selected = section(spec, "nodeSelector")
            if selected.setdefault(key, value) != value:
                raise BindingError(
                    f"a request provides machines of a single kind, but the pods select different values for {key}"
                )
    return spec

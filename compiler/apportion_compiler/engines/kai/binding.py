"""KAI Scheduler: queue, class and preemptibility are labels of owners and pods; the pod grouper creates the gangs.

The grouper reads an owner's labels before a pod's (pkg/podgrouper/podgrouper/plugins/defaultgrouper). Ray clusters and
Kubeflow jobs are gangs by default, a Job or JobSet by an annotation; bare pods require an explicit PodGroup.
"""

from __future__ import annotations

from apportion_api.kai import names
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.gang_minimum import gang_minimum, minimum_notes
from apportion_compiler.bindings.kinds.rayjob import SUBMISSION_MODE
from apportion_compiler.bindings.workload_fields import (
    annotate,
    class_name,
    gang_name,
    give_class,
    is_kind,
    is_whole_gang,
    label,
    n_pods,
    owners,
    schedule_by,
    templates,
)
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.workload_shapes import Node, found, mapping, section, sequence
from apportion_policy.quantity import gpu_text


def _bind(binding: Binding, workloads: tuple[Node, ...]) -> tuple[Node, ...]:
    for workload in workloads:
        _submission_mode(workload)
        labels = _labels(binding)
        # A bare pod is both its owner and its template.
        for node in (*owners(workload), *templates(workload)):
            label(node, labels)
        give_class(binding, workload)
        schedule_by(workload, binding.program.kai.scheduler_name)
        if is_kind(workload, "batch") or is_kind(workload, "jobset.x-k8s.io"):
            _start_together(workload)
    if len(workloads) == 1:
        return workloads
    for workload in workloads:
        annotate(workload, {names.POD_GROUP_ANNOTATION: gang_name(binding)})
    return (_pod_group(binding, n_pods(workloads)), *workloads)


def _labels(binding: Binding) -> dict[str, str]:
    labels = {names.QUEUE_LABEL: binding.queue_name}
    if binding.part is not None:
        labels[names.NODE_POOL_LABEL] = binding.part
    name = class_name(binding)
    if name is not None and binding.priority_class is not None:
        labels[names.PRIORITY_CLASS_LABEL] = name
        labels[names.PREEMPTIBILITY_LABEL] = _preemptibility(preemptible=binding.priority_class.preemptible)
    return labels


def _preemptibility(*, preemptible: bool) -> str:
    return "preemptible" if preemptible else "non-preemptible"


def _submission_mode(workload: Node) -> None:
    if not is_kind(workload, "ray.io", "RayJob"):
        return
    mode = found(workload, "spec", "submissionMode")
    if mode == "K8sJobMode":
        raise BindingError(f"with KAI, KubeRay rejects K8sJobMode: set spec.submissionMode to {SUBMISSION_MODE}")
    if mode is None:
        section(workload, "spec")["submissionMode"] = SUBMISSION_MODE


def _start_together(workload: Node) -> None:
    count = n_pods((workload,))
    if count > 1:
        for owner in owners(workload):
            annotate(owner, gang_minimum(owner, names.MIN_MEMBER_ANNOTATION, count))


def _pod_group(binding: Binding, count: int) -> Node:
    spec: Node = {"queue": binding.queue_name, "minMember": count}
    name = class_name(binding)
    if name is not None and binding.priority_class is not None:
        spec["priorityClassName"] = name
        spec["preemptibility"] = _preemptibility(preemptible=binding.priority_class.preemptible)
    group: Node = {
        "apiVersion": names.POD_GROUP_API,
        "kind": "PodGroup",
        "metadata": {"name": object_name(gang_name(binding)), "namespace": binding.namespace},
        "spec": spec,
    }
    if binding.part is not None:
        label(group, {names.NODE_POOL_LABEL: binding.part})
    return group


def _share(template: Node, gpus: int) -> None:
    # The webhook rejects the pod if it also requests a device.
    for container in sequence(found(template, "spec", "containers")):
        resources = mapping(mapping(container).get("resources"))
        for kind in ("requests", "limits"):
            mapping(resources.get(kind)).pop(GPU_RESOURCE, None)
    annotate(template, {names.GPU_FRACTION_ANNOTATION: gpu_text(gpus)})


def _elastic_job(workload: Node, least: int, most: int) -> None:
    annotate(workload, {names.MIN_MEMBER_ANNOTATION: str(least)})


def _elastic_pytorch_job(workload: Node, least: int, most: int) -> None:
    """Convert to workers only, as in the training operator's elastic jobs: torchrun's rendezvous needs no master."""
    replicas = section(workload, "spec", "pytorchReplicaSpecs")
    workers = mapping(replicas.get("Worker") or replicas.get("Master"))
    replicas.pop("Master", None)
    workers["replicas"] = most
    replicas["Worker"] = workers
    section(workload, "spec")["elasticPolicy"] = {"rdzvBackend": "c10d", "minReplicas": least, "maxReplicas": most}


def _starts_together(workload: Workload) -> bool:
    return is_whole_gang(workload, names.MIN_MEMBER_ANNOTATION)


BINDING = EngineBinding(
    "kai",
    _bind,
    share=_share,
    elastic={"Job": _elastic_job, "PyTorchJob": _elastic_pytorch_job},
    starts_together=_starts_together,
    remarks=minimum_notes(names.MIN_MEMBER_ANNOTATION),
    queue_keys=(names.QUEUE_LABEL,),
)

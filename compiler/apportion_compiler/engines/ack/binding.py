"""ACK: the namespace and a label determine the quota; kube-queue resumes suspended workloads when they fit.

kube-queue supports Jobs, RayJobs and the training operator's kinds (Job-Extensions `--enabled-extensions`); it never
resumes others, so those are not suspended and are subject to the scheduler's quota only. A RayJob gets its gang from
KubeRay as ACK ships it, other kinds from labels of the pods.
"""

from __future__ import annotations

from apportion_api.ack import names
from apportion_api.ack.names import GANG_MIN_LABEL, GANG_NAME_LABEL
from apportion_api.kubernetes.operators import RAY_SCHEDULER_LABEL
from apportion_compiler.bindings.binding import Binding, EngineBinding
from apportion_compiler.bindings.gang_minimum import gang_minimum, minimum_notes
from apportion_compiler.bindings.workload_fields import (
    annotate,
    gang_name,
    give_class,
    is_gang,
    is_kind,
    label,
    n_pods,
    owners,
    suspend,
    templates,
)
from apportion_compiler.engines.ack.names import DEFAULT_SCHEDULER, workload_queue
from apportion_compiler.workload_shapes import Node, found, section


def _bind(binding: Binding, workloads: tuple[Node, ...]) -> tuple[Node, ...]:
    count = n_pods(workloads)
    for workload in workloads:
        labels = {names.QUOTA_LABEL: binding.queue_name, **_preemptible(binding)}
        for node in (*owners(workload), *templates(workload)):
            label(node, labels)
        give_class(binding, workload)
        for template in templates(workload):
            if found(template, "spec", "schedulerName") is not None:
                section(template, "spec")["schedulerName"] = DEFAULT_SCHEDULER
            if count > 1 and is_gang(workload) and not is_kind(workload, "ray.io", "RayJob"):
                minimum = gang_minimum(template, GANG_MIN_LABEL, count)
                label(template, {GANG_NAME_LABEL: gang_name(binding), **minimum})
        _wait(workload)
    return workloads


def _preemptible(binding: Binding) -> dict[str, str]:
    """Return the preemptibility label.

    It is always set, because without it koord-queue confines a job to its queue's `min`.
    """
    preemptible = binding.priority_class is None or binding.priority_class.preemptible
    return {names.PREEMPTIBLE_LABEL: str(preemptible).lower()}


def _wait(workload: Node) -> None:
    if is_kind(workload, "ray.io", "RayJob"):
        label(workload, {RAY_SCHEDULER_LABEL: names.RAY_GANG_SCHEDULER})
        # KubeRay rejects a suspended RayJob that keeps its cluster.
        section(workload, "spec")["shutdownAfterJobFinishes"] = True
        suspend(workload)
    elif is_kind(workload, "batch"):
        suspend(workload)
    elif is_kind(workload, "kubeflow.org"):
        annotate(workload, {names.SUSPEND_ANNOTATION: "true"})


BINDING = EngineBinding(
    "ack",
    _bind,
    workload_queue=workload_queue,
    remarks=minimum_notes(GANG_MIN_LABEL),
    queue_keys=names.QUOTA_LABELS,
)

"""The fields of a job that kube-queue reads, as the table of the admission policies.

A job belongs to the quota of its namespace, unless one of two labels names another (koord-queue elastic_quota_tree.go,
getQuotaByLabels), so the policies restrict these labels. A job that is not created suspended never enters a queue;
kube-queue resumes it by setting the field or annotation, so only its creation is evaluated. An object that a controller
creates for an owner, such as the Job by which KubeRay submits a RayJob, is not a separate job.
"""

from __future__ import annotations

from apportion_api.ack.names import (
    KOORDINATOR_QUOTA_LABEL,
    PREEMPTIBLE_LABEL,
    QUEUE_NAMESPACE,
    QUOTA_LABEL,
    SUSPEND_ANNOTATION,
)
from apportion_compiler.backends.admission.engine_table import EngineTable, Requirement
from apportion_compiler.engines.ack.names import DEFAULT_SCHEDULER
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name

_OWNED = "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
_SUSPENDED = "dyn(object).spec.?suspend.orValue(false)"
_QUEUED = (
    Requirement(
        "templates",
        f"request.kind.kind != 'Job' || {_OWNED} || {_SUSPENDED}",
        "spec.suspend must be true: a Job that is not created suspended bypasses kube-queue",
    ),
    Requirement(
        "cronjobs",
        "object.spec.jobTemplate.spec.?suspend.orValue(false)",
        "spec.jobTemplate.spec.suspend must be true: a Job that is created without suspend bypasses kube-queue",
    ),
    Requirement(
        "ray",
        f"request.kind.kind != 'RayJob' || ({_SUSPENDED} && dyn(object).spec.?shutdownAfterJobFinishes.orValue(false))",
        "spec.suspend and spec.shutdownAfterJobFinishes must be true: a RayJob that is created without suspend bypasses "
        "kube-queue, and KubeRay rejects a suspended RayJob without shutdownAfterJobFinishes",
    ),
    Requirement(
        "kubeflow",
        f"{_OWNED} || dyn(object).spec.?runPolicy.?suspend.orValue(false) || "
        f"object.?metadata.?annotations[?'{SUSPEND_ANNOTATION}'].orValue('') == 'true'",
        f'annotation {SUSPEND_ANNOTATION} must be "true", or spec.runPolicy.suspend must be true: a job that is not '
        "created suspended bypasses kube-queue",
    ),
)


def engine_table(program: Program) -> EngineTable:
    """Return the table for one cluster."""
    return EngineTable(
        scheduler_name=DEFAULT_SCHEDULER,
        queue_label=QUOTA_LABEL,
        preemptibility_label=PREEMPTIBLE_LABEL,
        preemptible={object_name(cls.name): cls.preemptible for cls in program.priority_classes},
        system_namespaces=(QUEUE_NAMESPACE,),
        more_queue_labels=(KOORDINATOR_QUOTA_LABEL,),
        queue_required=False,
        preemptible_words=("true", "false"),
        requirements=_QUEUED,
    )

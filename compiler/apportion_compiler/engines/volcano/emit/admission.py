"""The fields of a workload that Volcano reads, as the table of the admission policies.

Its controller creates a PodGroup for pods without one, and reads the queue from the annotation of the pod, not of its
owner (pkg/controllers/podgroup/pg_controller_handler.go, buildPodGroupFromPod). A Volcano Job and Kubeflow's jobs name
their queue in a field, KubeRay's objects by a label, a LeaderWorkerSet by its own annotation: their operators write it
to the PodGroups that they create. A workload that names a PodGroup instead of a queue is evaluated with the queue of
that PodGroup.

Pods are preemptible by default (pkg/scheduler/api/pod_info.go, GetPodPreemptable): so non-preemptible classes require
the label or annotation.
"""

from __future__ import annotations

from apportion_api.kubernetes.operators import RAY_PRIORITY_CLASS_LABEL
from apportion_api.volcano.names import (
    BATCH_GROUP,
    GROUP,
    GROUP_ANNOTATION,
    PREEMPTABLE,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    SCHEDULER,
    SHARED_QUEUE,
    SYSTEM_NAMESPACE,
)
from apportion_compiler.backends.admission.cel import OWNED, text
from apportion_compiler.backends.admission.engine_table import EngineTable, Requirement, SchedulingUnit
from apportion_compiler.backends.admission.workloads import WORKLOADS, Workload
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name

_VOLCANO_JOBS = Workload(
    "volcanojobs",
    ((BATCH_GROUP, ("jobs",)),),
    "dyn({object}).spec.?tasks.orValue([]).filter(t, has(t.template)).map(t, t.template)",
)
_FIELD = {"volcanojobs": "queue", "kubeflow": "runPolicy.?schedulingPolicy.?queue"}
_UNCOUNTED = ("volcano.sh/vgpu",)
"""GPU fractions are separate resources, which the GPU amounts of queues do not count."""


def engine_table(program: Program) -> EngineTable:
    """Return the table for one cluster."""
    classes = program.priority_classes
    return EngineTable(
        scheduler_name=SCHEDULER,
        queue_label=QUEUE_LABEL,
        shared_queue=SHARED_QUEUE,
        class_labels=(RAY_PRIORITY_CLASS_LABEL,),
        preemptibility_label=PREEMPTABLE,
        preemptible={object_name(cls.name): cls.preemptible for cls in classes},
        must_say=tuple(object_name(cls.name) for cls in classes if not cls.preemptible),
        system_namespaces=(SYSTEM_NAMESPACE,),
        unit=SchedulingUnit(GROUP, "podgroups", "PodGroup", "queue", "priorityClassName", None, must_say=False),
        queue_annotations=(QUEUE_ANNOTATION,),
        queue_required=False,
        preemptible_words=("true", "false"),
        forbidden_resources=_UNCOUNTED,
        requirements=tuple(_requirement(workload) for workload in (*WORKLOADS, _VOLCANO_JOBS)),
        preemptibility_annotation=PREEMPTABLE,
        queue_fields=_FIELD,
        class_fields={"volcanojobs": "priorityClassName", "kubeflow": "runPolicy.?schedulingPolicy.?priorityClass"},
        more_workloads=(_VOLCANO_JOBS,),
    )


def _requirement(workload: Workload) -> Requirement:
    """Return the requirement on where a workload shape must name its queue."""
    on_pods = f"annotation {QUEUE_ANNOTATION} on the pods"
    if workload.name == "ray":
        return _named(workload, f"object.?metadata.?labels[?{text(QUEUE_LABEL)}].hasValue()", f"label {QUEUE_LABEL}")
    if workload.name == "volcanojobs":
        return _named(workload, f"dyn(object).spec.?{_FIELD[workload.name]}.hasValue()", "spec.queue")
    pods = f"({workload.templates.replace('{object}', 'object')})"
    annotated = f"{pods}.all(t, {_annotated('t', QUEUE_ANNOTATION)} || {_annotated('t', GROUP_ANNOTATION)})"
    if workload.name == "kubeflow":
        field = f"dyn(object).spec.?{_FIELD[workload.name]}.hasValue()"
        return _named(workload, f"{field} || {annotated}", f"spec.runPolicy.schedulingPolicy.queue, or {on_pods}")
    if workload.name == "leaderworkersets":
        above = _annotated("object", QUEUE_ANNOTATION)
        return _named(workload, f"{above} || {annotated}", f"annotation {QUEUE_ANNOTATION} on the object or its pods")
    return _named(workload, annotated, on_pods)


def _named(workload: Workload, expression: str, place: str) -> Requirement:
    return Requirement(
        workload.name,
        f"{OWNED['expression']} || {expression}",
        f"set the queue in {place}: Volcano runs workloads without a queue in its {SHARED_QUEUE} queue",
    )


def _annotated(of: str, key: str) -> str:
    return f"{of}.?metadata.?annotations[?{text(key)}].hasValue()"

"""The fields of a workload that KAI reads, as the table of the admission policies.

The pod grouper reads the queue from the label of the topmost owner, then of the pod; the class from the label of an
owner, of the pod, then the pod's field; preemptibility from an owner's label, then the pod's
(pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go). It writes all three into the PodGroup, and the
scheduler reads them there.
"""

from __future__ import annotations

from apportion_api.kai.names import (
    DEFAULT_CLASS,
    DEPLOYMENT_CLASS,
    GPU_SHARING_ANNOTATIONS,
    GROUP,
    PREEMPTIBILITY_LABEL,
    PRIORITY_CLASS_LABEL,
    QUEUE_LABEL,
    SHARED_QUEUE,
    SYSTEM_NAMESPACES,
)
from apportion_api.kubernetes.operators import RAY_PRIORITY_CLASS_LABEL
from apportion_compiler.backends.admission.engine_table import EngineTable, SchedulingUnit
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name
from apportion_policy.priority import NON_PREEMPTIBLE_FROM


def engine_table(program: Program) -> EngineTable:
    """Return the table for one cluster."""
    classes = program.priority_classes
    return EngineTable(
        scheduler_name=program.kai.scheduler_name,
        queue_label=QUEUE_LABEL,
        shared_queue=SHARED_QUEUE,
        class_labels=(PRIORITY_CLASS_LABEL, RAY_PRIORITY_CLASS_LABEL),
        preemptibility_label=PREEMPTIBILITY_LABEL,
        sharing_annotations=GPU_SHARING_ANNOTATIONS,
        default_class=DEFAULT_CLASS,
        default_class_of={"deployments": DEPLOYMENT_CLASS},
        preemptible={object_name(cls.name): cls.preemptible for cls in classes},
        must_say=tuple(
            object_name(cls.name) for cls in classes if cls.preemptible != (cls.value < NON_PREEMPTIBLE_FROM)
        ),
        system_namespaces=SYSTEM_NAMESPACES,
        unit=SchedulingUnit(GROUP, "podgroups", "PodGroup", "queue", "priorityClassName", "preemptibility"),
    )

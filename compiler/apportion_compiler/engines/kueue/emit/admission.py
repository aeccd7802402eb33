"""The fields of a workload that Kueue reads, as the table of the admission policies.

The queue is the label of the topmost object; the class that object's label, else the pods' field
(pkg/controller/jobframework/reconciler.go). Kueue creates a Workload from both and admits that, so a user who forges an
owner must still get a Workload past the policy.
"""

from __future__ import annotations

from apportion_api.kueue.names import GROUP, PRIORITY_CLASS_LABEL, QUEUE_LABEL
from apportion_compiler.backends.admission.engine_table import EngineTable, SchedulingUnit
from apportion_compiler.engines.kueue.names import SCHEDULER, SYSTEM_NAMESPACE
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name


def engine_table(program: Program) -> EngineTable:
    """Return the table for one cluster."""
    return EngineTable(
        scheduler_name=SCHEDULER,
        queue_label=QUEUE_LABEL,
        class_labels=(PRIORITY_CLASS_LABEL,),
        preemptible={object_name(cls.name): cls.preemptible for cls in program.priority_classes},
        system_namespaces=(SYSTEM_NAMESPACE,),
        unit=SchedulingUnit(GROUP, "workloads", "Workload", "queueName", "priorityClassRef.?name", None),
    )

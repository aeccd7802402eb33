"""The fields of a pod that Koordinator reads, as the table of the admission policies.

The scheduler reads the quota from the pod's label, or else from the namespace (pkg/scheduler/plugins/
elasticquota/plugin_helper.go at a7a1b76b, GetQuotaName). For some priorities and QoS classes, the webhook rewrites cpu
and memory to resources that no quota counts, before these policies evaluate the pod, so the policies reject these
resources.
"""

from __future__ import annotations

from apportion_api.koordinator.names import (
    DEFAULT_QUOTA,
    PREEMPTIBLE_LABEL,
    QUEUE_LABEL,
    QUOTA_NAMESPACE,
    SCHEDULER,
    UNCOUNTED_RESOURCES,
)
from apportion_compiler.backends.admission.engine_table import EngineTable
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name


def engine_table(program: Program) -> EngineTable:
    """Return the table for one cluster."""
    classes = program.priority_classes
    return EngineTable(
        scheduler_name=SCHEDULER,
        queue_label=QUEUE_LABEL,
        shared_queue=DEFAULT_QUOTA,
        preemptibility_label=PREEMPTIBLE_LABEL,
        preemptible={object_name(cls.name): cls.preemptible for cls in classes},
        # A pod without the label can be evicted.
        must_say=tuple(object_name(cls.name) for cls in classes if not cls.preemptible),
        system_namespaces=(QUOTA_NAMESPACE,),
        queue_required=False,
        preemptible_words=("true", "false"),
        forbidden_resources=UNCOUNTED_RESOURCES,
    )

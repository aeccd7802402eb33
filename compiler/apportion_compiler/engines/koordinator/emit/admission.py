"""What Koordinator reads from a pod, as the table of the admission policies.

The scheduler takes the quota from the pod's label, and without one from the namespace (pkg/scheduler/plugins/
elasticquota/plugin_helper.go at a7a1b76b, GetQuotaName). The webhook rewrites cpu and memory of pods of some priorities
and qualities of service to resources that no quota counts, before these policies see the pod: so what is refused is
the resources.
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

"""KAI Scheduler: queues with a parent each, and a scheduling shard for each part of the nodes."""

from __future__ import annotations

from apportion_api.kai import names
from apportion_api.kubernetes.operators import RAY_PRIORITY_CLASS_LABEL
from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.engines.traits import EngineTraits, NodeLabel, Reference

_QUEUE = (names.GROUP, "Queue")

TRAITS = EngineTraits(
    # The API group scheduling.run.ai/v2 with parent queues is the same from 0.12 on.
    versions=VersionRange("KAI", (0, 12), (0, 17), "https://github.com/NVIDIA/KAI-Scheduler/releases"),
    # capacity_policy/max_allowed_check.go tests every ancestor.
    limit_over_parent="kai limits it to {}",
    # plugins/proportion/capacity_policy/quota_check.go, with the quota of every ancestor.
    holds_to_guarantee=True,
    groups=(names.GROUP, names.CONFIGURATION_GROUP),
    key_prefixes=("kai.scheduler/",),
    scheduler=names.DEFAULT_SCHEDULER,
    image=r"kai-scheduler/[\w-]+:(?P<version>[\w.-]+)",
    configuration_kinds=frozenset(
        (_QUEUE, (names.CONFIGURATION_GROUP, "SchedulingShard"), (names.CONFIGURATION_GROUP, "Topology"))
    ),
    workload_keys=(names.QUEUE_LABEL,),
    queue_labels=(names.QUEUE_LABEL,),
    requires_queue=True,
    class_labels=(names.PRIORITY_CLASS_LABEL, RAY_PRIORITY_CLASS_LABEL),
    installed_classes=frozenset(names.INSTALLED_CLASSES),
    open_queues=frozenset({names.SHARED_QUEUE}),
    own_objects=frozenset({names.SHARED_QUEUE}),
    divided_by_model=True,
    # The value of partitionLabelValue; nodes of the default shard carry no such label.
    node_label=NodeLabel(names.NODE_POOL_LABEL, "gpu model", "it assigns the nodes to a scheduling shard"),
    sharing_annotations=names.GPU_SHARING_ANNOTATIONS,
    # What it makes of Ray's objects it reads from their pods, whose label a rule of its own asks for.
    pod_labelled_groups=("ray.io",),
    # Bare pods that start together need a PodGroup of their own. Which queue one names, the admission policies say.
    team_writes=((names.GROUP, ("podgroups",)),),
    cluster_reads=((names.CONFIGURATION_GROUP, ("topologies",)), (names.GROUP, ("queues",))),
    references=(Reference(_QUEUE, "spec.parentQueue", _QUEUE),),
)

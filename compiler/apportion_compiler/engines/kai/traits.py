"""Traits of KAI Scheduler: queues with a single parent, and a scheduling shard for each partition of the nodes."""

from __future__ import annotations

from apportion_api.kai import names
from apportion_api.kubernetes.operators import RAY_PRIORITY_CLASS_LABEL
from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.engines.traits import EngineTraits, NodeLabel, Reference

_QUEUE = (names.GROUP, "Queue")

TRAITS = EngineTraits(
    title=names.TITLE,
    # The API scheduling.run.ai/v2 with parent queues is unchanged since 0.12.
    versions=VersionRange("KAI", (0, 12), (0, 17), "https://github.com/NVIDIA/KAI-Scheduler/releases"),
    # capacity_policy/max_allowed_check.go checks every ancestor.
    limit_over_parent="KAI limits it to {}",
    # plugins/proportion/capacity_policy/quota_check.go checks the quota of every ancestor.
    holds_to_guarantee=True,
    groups=(names.GROUP, names.CONFIGURATION_GROUP),
    key_prefixes=("kai.scheduler/",),
    scheduler=names.DEFAULT_SCHEDULER,
    live_scheduler=True,
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
    # The value of partitionLabelValue; nodes of the default shard have no such label.
    node_label=NodeLabel(names.NODE_POOL_LABEL, "gpu model", "it assigns the nodes to a scheduling shard"),
    sharing_annotations=names.GPU_SHARING_ANNOTATIONS,
    # KAI reads the queue of Ray's objects from their pods, whose label a separate rule requires.
    pod_labelled_groups=("ray.io",),
    # Bare pods that start together need an explicit PodGroup. The admission policies restrict its queue.
    team_writes=((names.GROUP, ("podgroups",)),),
    cluster_reads=((names.CONFIGURATION_GROUP, ("topologies",)), (names.GROUP, ("queues",))),
    references=(Reference(_QUEUE, "spec.parentQueue", _QUEUE),),
)

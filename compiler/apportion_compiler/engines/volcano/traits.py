"""Traits of Volcano: queues with a single parent under the capacity plugin."""

from __future__ import annotations

from apportion_api.kubernetes.operators import RAY_PRIORITY_CLASS_LABEL
from apportion_api.volcano import names
from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.engines.traits import EngineTraits, NodeLabel, Reference

_QUEUE = (names.GROUP, "Queue")

TRAITS = EngineTraits(
    title=names.TITLE,
    # Queues have a parent under the capacity plugin since 1.10.
    versions=VersionRange("Volcano", (1, 10), (1, 16), "https://github.com/volcano-sh/volcano/releases"),
    # pkg/webhooks/admission/queues/validate: child capability <= the nearest ancestor's that sets it.
    limit_over_parent="Volcano's webhook rejects it",
    refuses_limit_over_parent=True,
    groups=(
        names.GROUP,
        names.BATCH_GROUP,
        names.TOPOLOGY_GROUP,
        names.BUS_GROUP,
        "flow.volcano.sh",
    ),
    key_prefixes=("volcano.sh/", "scheduling.volcano.sh/"),
    scheduler=names.SCHEDULER,
    image=r"volcanosh/vc-(?:scheduler|controller-manager):(?P<version>[\w.-]+)",
    configuration_kinds=frozenset((_QUEUE, (names.TOPOLOGY_GROUP, "HyperNode"))),
    workload_keys=(names.QUEUE_ANNOTATION, names.QUEUE_LABEL),
    queue_labels=(names.QUEUE_LABEL,),
    queue_annotations=(names.QUEUE_ANNOTATION,),
    class_labels=(RAY_PRIORITY_CLASS_LABEL,),
    open_queues=frozenset({names.SHARED_QUEUE}),
    own_objects=frozenset({names.ROOT_QUEUE, names.SHARED_QUEUE}),
    reserved_queue_names=frozenset({names.ROOT_QUEUE, names.SHARED_QUEUE}),
    divided_by_model=True,
    node_label=NodeLabel(names.NODE_GROUP_LABEL, "pool", "queues use it to select node groups"),
    queue_fields={names.BATCH_GROUP: "spec.queue"},
    team_writes=((names.BATCH_GROUP, ("cronjobs", "jobs")), (names.GROUP, ("podgroups",))),
    cluster_reads=((names.GROUP, ("queues",)), (names.TOPOLOGY_GROUP, ("hypernodes",))),
    references=(Reference(_QUEUE, "spec.parent", _QUEUE),),
)

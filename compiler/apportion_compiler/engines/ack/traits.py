"""Traits of ACK: an ElasticQuotaTree whose nodes are the queues, and kube-queue, which admits jobs to the scheduler."""

from __future__ import annotations

from apportion_api.ack import names
from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.engines.traits import EngineTraits

TRAITS = EngineTraits(
    title=names.TITLE,
    versions=VersionRange(
        "ack-kube-queue", (1, 21), None, "https://www.alibabacloud.com/help/en/ack/product-overview/kube-queue"
    ),
    limit_over_parent="ack-kube-queue rejects it",
    refuses_limit_over_parent=True,
    # kube-queue's Filter compares non-preemptible jobs with min.
    holds_to_guarantee=True,
    shared_kinds=((names.TREE_GROUP, "ElasticQuotaTree"), (names.QUEUE_GROUP, "Queue")),
    key_prefixes=("kube-queue/", "quota.scheduling.alibabacloud.com/"),
    live_scheduler=True,
    image=r"kube-queue(?:-controller)?:(?P<version>[\w.-]+)",
    configuration_kinds=frozenset(((names.TREE_GROUP, "ElasticQuotaTree"), (names.QUEUE_GROUP, "Queue"))),
    workload_keys=(names.QUOTA_LABEL, names.SUSPEND_ANNOTATION),
    queue_labels=(names.QUOTA_LABEL, names.KOORDINATOR_QUOTA_LABEL),
    unit_annotations=(names.QUEUE_NAME_ANNOTATION,),
    resume_labels=(names.QUOTA_LABEL,),
    reserved_queue_names=frozenset({names.ROOT}),
    dotless_names=True,
    team_reads=((names.QUEUE_GROUP, ("queueunits",)),),
    cluster_reads=((names.TREE_GROUP, ("elasticquotatrees",)), (names.QUEUE_GROUP, ("queues",))),
)

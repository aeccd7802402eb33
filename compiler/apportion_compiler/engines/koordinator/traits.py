"""Traits of Koordinator: ElasticQuotas whose labels name their parents, in a separate tree for each GPU model."""

from __future__ import annotations

from apportion_api.koordinator import names
from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.engines.traits import EngineTraits, Reference

_QUOTA = (names.GROUP, "ElasticQuota")

TRAITS = EngineTraits(
    title=names.TITLE,
    versions=VersionRange("Koordinator", (1, 6), (1, 8), "https://github.com/koordinator-sh/koordinator/releases"),
    # enableCheckParentQuota is false by default.
    limit_over_parent="Koordinator allows more than {} unless enableCheckParentQuota is enabled",
    # plugins/elasticquota: non-preemptible used + request <= min.
    holds_to_guarantee=True,
    groups=(names.PROFILE_GROUP, names.TOPOLOGY_GROUP, names.CONFIGURATION_GROUP),
    shared_kinds=(_QUOTA, (names.GROUP, "PodGroup")),
    key_prefixes=("quota.scheduling.koordinator.sh/", "gang.scheduling.koordinator.sh/"),
    scheduler=names.SCHEDULER,
    image=r"koordinator-sh/koord-(?:scheduler|manager):(?P<version>[\w.-]+)",
    configuration_kinds=frozenset(
        (
            _QUOTA,
            (names.PROFILE_GROUP, "ElasticQuotaProfile"),
            (names.TOPOLOGY_GROUP, "ClusterNetworkTopology"),
        )
    ),
    workload_keys=(names.QUEUE_LABEL,),
    queue_labels=(names.QUEUE_LABEL,),
    installed_classes=frozenset({"koord-prod", "koord-mid", "koord-batch", "koord-free"}),
    open_queues=frozenset({names.DEFAULT_QUOTA}),
    own_objects=frozenset({names.ROOT_QUOTA, names.SYSTEM_QUOTA, names.DEFAULT_QUOTA}),
    reserved_queue_names=frozenset({names.ROOT_QUOTA, names.SYSTEM_QUOTA, names.DEFAULT_QUOTA, names.QUOTA_NAMESPACE}),
    divided_by_model=True,
    team_reads=((names.GROUP, ("podgroups",)),),
    cluster_reads=((names.GROUP, ("elasticquotas",)),),
    references=(Reference(_QUOTA, f"metadata.labels[{names.PARENT_LABEL}]", _QUOTA, label=names.PARENT_LABEL),),
)

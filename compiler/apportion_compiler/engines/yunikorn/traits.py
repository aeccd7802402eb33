"""Traits of YuniKorn: a tree of queues in one ConfigMap; annotations of namespaces select queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_api.yunikorn import names
from apportion_api.yunikorn.names import DEFAULTS_CONFIG_MAP
from apportion_compiler.engine_versions import VersionRange
from apportion_compiler.engines.traits import EngineTraits


def _namespace_annotations(queue_names: Sequence[str]) -> Mapping[str, str]:
    if not queue_names:
        return {}
    return {names.PARENT_QUEUE_ANNOTATION: queue_names[0], names.ENABLED_ANNOTATION: "true"}


TRAITS = EngineTraits(
    title=names.TITLE,
    versions=VersionRange("YuniKorn", (1, 6), (1, 8), "https://yunikorn.apache.org/community/download"),
    limit_over_parent="YuniKorn rejects the whole configuration",
    refuses_limit_over_parent=True,
    key_prefixes=(f"{names.DOMAIN}/",),
    config_maps=(names.CONFIG_MAP, DEFAULTS_CONFIG_MAP),
    scheduler=names.SCHEDULER,
    image=r"yunikorn:scheduler-(?P<version>[\w.-]+)",
    configuration_kinds=frozenset((("", "ConfigMap"),)),
    workload_keys=(names.QUEUE_LABEL, names.APP_ID_LABEL),
    queue_labels=(names.QUEUE_LABEL,),
    queue_annotations=(names.QUEUE_ANNOTATION,),
    # A queue named root has no limits anywhere in the tree, and pods without a placement run in root.default.
    reserved_queue_names=frozenset({names.ROOT_QUEUE, "default"}),
    limits_users_of_subtrees=True,
    path_root=names.ROOT_QUEUE,
    dotless_names=True,
    namespace_annotations=_namespace_annotations,
    guarded_prefixes=(f"{names.DOMAIN}/",),
)

"""Koordinator's API versions, label and annotation keys, and names of installed objects, at a7a1b76b (v1.8.0-61).

Source: apis/extension/elastic_quota.go, apis/extension/priority.go, pkg/scheduler/apis/config/v1/defaults.go; the
chart's versions/v1.8.0/values.yaml and templates/koord-scheduler-config.yaml in koordinator-sh/charts.
"""

from __future__ import annotations

from collections.abc import Mapping

TITLE = "Koordinator"
"""The engine in prose."""
GROUP = "scheduling.sigs.k8s.io"
QUOTA_API = f"{GROUP}/v1alpha1"
PROFILE_GROUP = "quota.koordinator.sh"
PROFILE_API = f"{PROFILE_GROUP}/v1alpha1"
TOPOLOGY_GROUP = "scheduling.koordinator.sh"
TOPOLOGY_API = f"{TOPOLOGY_GROUP}/v1alpha1"
CONFIGURATION_GROUP = "config.koordinator.sh"

QUOTA_PREFIX = "quota.scheduling.koordinator.sh"
QUEUE_LABEL = f"{QUOTA_PREFIX}/name"
"""Only on pods: Koordinator does not read owners."""
PARENT_LABEL = f"{QUOTA_PREFIX}/parent"
IS_PARENT_LABEL = f"{QUOTA_PREFIX}/is-parent"
IS_ROOT_LABEL = f"{QUOTA_PREFIX}/is-root"
TREE_ID_LABEL = f"{QUOTA_PREFIX}/tree-id"
ALLOW_LENT_LABEL = f"{QUOTA_PREFIX}/allow-lent-resource"
FORCE_UPDATE_LABEL = f"{QUOTA_PREFIX}/allow-force-update"
PREEMPTIBLE_LABEL = f"{QUOTA_PREFIX}/preemptible"
SHARED_WEIGHT_ANNOTATION = f"{QUOTA_PREFIX}/shared-weight"
NAMESPACES_ANNOTATION = f"{QUOTA_PREFIX}/namespaces"
RESOURCE_KEYS_ANNOTATION = f"{QUOTA_PREFIX}/resource-keys"
STRICT_KEYS_ANNOTATION = f"{QUOTA_PREFIX}/max-strict-check-resource-keys"

GANG_PREFIX = "gang.scheduling.koordinator.sh"
GANG_NAME_ANNOTATION = f"{GANG_PREFIX}/name"
GANG_MIN_ANNOTATION = f"{GANG_PREFIX}/min-available"
GANG_MODE_ANNOTATION = f"{GANG_PREFIX}/mode"
GANG_GROUPS_ANNOTATION = f"{GANG_PREFIX}/groups"
"""Gangs that start together, as a JSON list of `namespace/name`."""
GANG_MATCH_POLICY_ANNOTATION = f"{GANG_PREFIX}/match-policy"
GANG_TOPOLOGY_ANNOTATION = f"{GANG_PREFIX}/network-topology-spec"
POD_GROUP_LABEL = f"pod-group.{GROUP}"
"""The label of pods that belong to a PodGroup object; the labels below it are those of gangs without one."""

ROOT_QUOTA = "koordinator-root-quota"
SYSTEM_QUOTA = "koordinator-system-quota"
DEFAULT_QUOTA = "koordinator-default-quota"
QUOTA_NAMESPACE = "koordinator-system"
"""The namespace of the chart and of the quotas, whose names are unique over all namespaces anyway."""

SCHEDULER = "koord-scheduler"
SCHEDULER_CONFIG = "koord-scheduler-config"
"""The ConfigMap of the chart and its only key."""
TOPOLOGY_NAME = "default"
"""The only ClusterNetworkTopology that the scheduler reads (frameworkext/networktopology/tree_manager.go)."""
NODE_LAYER = "NodeTopologyLayer"

UNCOUNTED_RESOURCES = ("koordinator.sh/gpu", "kubernetes.io/batch-", "kubernetes.io/mid-")
"""Prefixes of resources for fractions of GPUs, and for batch and mid cpu and memory, which a policy's quotas do not count.
"""
INSTALLED_CLASSES: Mapping[str, int] = {"koord-prod": 9000, "koord-mid": 7000, "koord-batch": 5000, "koord-free": 3000}
"""Values of the PriorityClasses that the chart installs (config/manager/koord-*.yaml)."""

UNCOUNTED_BANDS: Mapping[str, tuple[int, int, str]] = {
    "koord-batch": (5000, 5999, "batch"),
    "koord-mid": (7000, 7999, "mid"),
}
"""Priority bands, from the least to the most priority, whose pods' cpu and memory the webhook rewrites to batch or mid
resources, which no quota of a policy counts (pkg/webhook/pod/mutating/cluster_colocation_profile.go, mutatePodResourceSpec).
"""

"""Volcano's API versions, label and annotation keys, and the names of objects that it installs, at ed72c7c81.

Source: volcano-sh/apis pkg/apis/{scheduling,batch,topology}, pkg/scheduler/plugins/nodegroup,
installer/helm/chart/volcano.
"""

from __future__ import annotations

TITLE = "Volcano"
"""The engine in prose."""
GROUP = "scheduling.volcano.sh"
SCHEDULING_API = f"{GROUP}/v1beta1"
BATCH_GROUP = "batch.volcano.sh"
JOB_API = f"{BATCH_GROUP}/v1alpha1"
TOPOLOGY_GROUP = "topology.volcano.sh"
BUS_GROUP = "bus.volcano.sh"

QUEUE_ANNOTATION = f"{GROUP}/queue-name"
"""The queue, on a pod, its owner or a namespace."""
QUEUE_LABEL = "volcano.sh/queue-name"
"""The queue, on a RayCluster or RayJob: KubeRay copies it to the PodGroup."""
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
"""On a pod: its PodGroup."""
MIN_MEMBER_ANNOTATION = f"{GROUP}/group-min-member"
"""On a Job or another owner of pods: the PodGroup's `minMember` (volcano.sh/apis, labels.go)."""
HIERARCHY_ANNOTATION = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS_ANNOTATION = "volcano.sh/hierarchy-weights"
TOPOLOGY_MODE_ANNOTATION = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER_ANNOTATION = "volcano.sh/network-topology-highest-tier"
"""On a pod: the `networkTopology` of the PodGroup that Volcano's controller creates for it."""
TASK_ANNOTATION = "volcano.sh/task-spec"
JOB_ANNOTATION = "volcano.sh/job-name"
PREEMPTABLE = "volcano.sh/preemptable"
"""Preemptibility, `true` or `false`: annotation, or else label, of pods and PodGroups."""
SCHEDULER = "volcano"
NODE_GROUP_LABEL = "volcano.sh/nodegroup-name"
"""The node group of a node, which `affinity.nodeGroupAffinity` of a queue references, for the plugin `nodegroup`.

Source: pkg/scheduler/plugins/nodegroup/nodegroup.go, NodeGroupNameKey.
"""
NODE_GROUP_LIMITS_ANNOTATION = "volcano.sh/nodegroup-resource-limits"
"""On a Queue: the amounts that it may use of each node group."""
ROOT_QUEUE = "root"
SHARED_QUEUE = "default"
"""The queue of workloads without one."""

SYSTEM_NAMESPACE = "volcano-system"
CONTROLLER_CONFIG_MAP = "volcano-controller-configmap"
CONTROLLER_KEY = "volcano-controller.conf"
"""Suffix of the chart's ConfigMap, which is named after the release: `<release>-scheduler-configmap`."""

"""Volcano's API versions, label and annotation keys, and the names of what it installs, at ed72c7c81.

Source: volcano-sh/apis pkg/apis/{scheduling,batch,topology}, pkg/scheduler/plugins/nodegroup, installer/helm/chart/volcano.
"""

from __future__ import annotations

GROUP = "scheduling.volcano.sh"
SCHEDULING_API = f"{GROUP}/v1beta1"
BATCH_GROUP = "batch.volcano.sh"
JOB_API = f"{BATCH_GROUP}/v1alpha1"
TOPOLOGY_GROUP = "topology.volcano.sh"
BUS_GROUP = "bus.volcano.sh"

QUEUE_ANNOTATION = f"{GROUP}/queue-name"
"""On a pod, on its owner or on a namespace."""
QUEUE_LABEL = "volcano.sh/queue-name"
"""On a RayCluster or RayJob: KubeRay writes the PodGroup from it."""
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
"""On a pod: the PodGroup it belongs to."""
MIN_MEMBER_ANNOTATION = f"{GROUP}/group-min-member"
"""On a Job or what else owns pods: the PodGroup's `minMember` (volcano.sh/apis, labels.go)."""
HIERARCHY_ANNOTATION = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS_ANNOTATION = "volcano.sh/hierarchy-weights"
TASK_ANNOTATION = "volcano.sh/task-spec"
JOB_ANNOTATION = "volcano.sh/job-name"
PREEMPTABLE = "volcano.sh/preemptable"
"""Annotation, else label, of pods and PodGroups: `true` or `false`."""
SCHEDULER = "volcano"
NODE_GROUP_LABEL = "volcano.sh/nodegroup-name"
"""The node group that `affinity.nodeGroupAffinity` of a queue names, with the plugin `nodegroup`.

Source: pkg/scheduler/plugins/nodegroup/nodegroup.go, NodeGroupNameKey.
"""
NODE_GROUP_LIMITS_ANNOTATION = "volcano.sh/nodegroup-resource-limits"
"""On a Queue: what its work may use of each node group."""
ROOT_QUEUE = "root"
SHARED_QUEUE = "default"
"""Where work goes that names no queue."""

SYSTEM_NAMESPACE = "volcano-system"
CONTROLLER_CONFIG_MAP = "volcano-controller-configmap"
CONTROLLER_KEY = "volcano-controller.conf"
"""The chart names its ConfigMaps after the release: `<release>-scheduler-configmap`."""

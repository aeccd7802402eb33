"""Volcano's API versions, label and annotation keys, and the names of what it installs, at ed72c7c81.

Source: volcano-sh/apis pkg/apis/{scheduling,batch,topology}, pkg/scheduler/plugins/nodegroup, installer/helm/chart/volcano.
"""

from __future__ import annotations

SCHEDULING_API = "scheduling.volcano.sh/v1beta1"

QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
"""On a pod, on its owner or on a namespace."""
QUEUE_LABEL = "volcano.sh/queue-name"
"""On a RayCluster or RayJob: KubeRay writes the PodGroup from it."""
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
"""On a pod: the PodGroup it belongs to."""
PREEMPTABLE = "volcano.sh/preemptable"
"""Annotation, else label, of pods and PodGroups: `true` or `false`."""
RAY_PRIORITY_CLASS_LABEL = "ray.io/priority-class-name"
SCHEDULER = "volcano"
NODE_GROUP_LABEL = "volcano.sh/nodegroup-name"
"""The node group that `affinity.nodeGroupAffinity` of a queue names, with the plugin `nodegroup`.

Source: pkg/scheduler/plugins/nodegroup/nodegroup.go, NodeGroupNameKey.
"""
ROOT_QUEUE = "root"
SHARED_QUEUE = "default"
"""Where work goes that names no queue."""

SYSTEM_NAMESPACE = "volcano-system"
CONTROLLER_CONFIG_MAP = "volcano-controller-configmap"
CONTROLLER_KEY = "volcano-controller.conf"
"""The chart names its ConfigMaps after the release: `<release>-scheduler-configmap`."""

GPU_RESOURCE = "nvidia.com/gpu"

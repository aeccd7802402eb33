"""KAI's API versions, label and annotation keys, and the names of what its chart installs, at d5bc503a.

Source: pkg/common/constants/constants.go, pkg/podgrouper/podgrouper/plugins/constants/constants.go,
deployments/kai-scheduler/values.yaml.
"""

from __future__ import annotations

QUEUE_API = "scheduling.run.ai/v2"
POD_GROUP_API = "scheduling.run.ai/v2alpha2"
SHARD_API = "kai.scheduler/v1"
TOPOLOGY_API = "kai.scheduler/v1alpha1"

QUEUE_LABEL = "kai.scheduler/queue"
NODE_POOL_LABEL = "kai.scheduler/node-pool"
"""The scheduling shard of a node."""
PREEMPTIBILITY_LABEL = "kai.scheduler/preemptibility"
PRIORITY_CLASS_LABEL = "priorityClassName"
RAY_PRIORITY_CLASS_LABEL = "ray.io/priority-class-name"
POD_GROUP_ANNOTATION = "pod-group-name"
"""On a pod: the PodGroup it belongs to; where it is missing, the pod grouper makes one and writes it."""
MIN_MEMBER_ANNOTATION = "kai.scheduler/batch-min-member"
"""On a Job or JobSet: how many of its pods start together; without it each starts by itself (docs/batch)."""
GPU_FRACTION_ANNOTATION = "gpu-fraction"
GPU_SHARING_ANNOTATIONS = (GPU_FRACTION_ANNOTATION, "gpu-memory", "gpu-fraction-num-devices")

SHARED_QUEUE = "default-queue"
"""Where the pod grouper puts work that names no queue."""

DEFAULT_SHARD = "default"
DEFAULT_SCHEDULER = "kai-scheduler"
SYSTEM_NAMESPACES = ("kai-scheduler", "kai-resource-reservation", "kai-scale-adjust")

DEFAULT_CLASS = "train"
DEPLOYMENT_CLASS = "inference"
"""What the pod grouper gives work without a class: by default, and to a Deployment's."""

INSTALLED_CLASSES = frozenset({"train", "build-preemptible", "build", "inference"})
"""Names of the PriorityClasses that the chart installs unless `defaultPriorityClasses.enabled` is false."""

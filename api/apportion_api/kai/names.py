"""KAI's API versions, label and annotation keys, and the names of what its chart installs, at d5bc503a.

Source: pkg/common/constants/constants.go, pkg/podgrouper/podgrouper/plugins/constants/constants.go,
deployments/kai-scheduler/values.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping

GROUP = "scheduling.run.ai"
QUEUE_API = f"{GROUP}/v2"
POD_GROUP_API = f"{GROUP}/v2alpha2"
BIND_REQUEST_API = f"{GROUP}/v1alpha2"
CONFIGURATION_GROUP = "kai.scheduler"
SHARD_API = CONFIG_API = f"{CONFIGURATION_GROUP}/v1"
TOPOLOGY_API = f"{CONFIGURATION_GROUP}/v1alpha1"

QUEUE_LABEL = f"{CONFIGURATION_GROUP}/queue"
NODE_POOL_LABEL = f"{CONFIGURATION_GROUP}/node-pool"
"""The scheduling shard of a node."""
PREEMPTIBILITY_LABEL = f"{CONFIGURATION_GROUP}/preemptibility"
PREEMPTIBLE, NON_PREEMPTIBLE = PREEMPTIBILITIES = ("preemptible", "non-preemptible")
PRIORITY_CLASS_LABEL = "priorityClassName"
PROJECT_LABEL = "project"
USER_LABEL = "user"
PREEMPTION_DELAY_ANNOTATION = f"{CONFIGURATION_GROUP}/preemption-delay"
STALENESS_GRACE_ANNOTATION = f"{CONFIGURATION_GROUP}/staleness-grace-period"
SKIP_GROUPING_ANNOTATION = f"{CONFIGURATION_GROUP}/skip-podgrouper"
POD_GROUP_ANNOTATION = "pod-group-name"
"""On a pod: the PodGroup it belongs to; where it is missing, the pod grouper makes one and writes it."""
TOP_OWNER_ANNOTATION = f"{CONFIGURATION_GROUP}/top-owner-metadata"
"""On a PodGroup: name, uid, group, version and kind of the owner that its pods are grouped by, as YAML."""
POD_GROUP_PREFIX = "pg"
"""Names of the PodGroups that the pod grouper makes begin so."""
SUB_GROUP_LABEL = f"{CONFIGURATION_GROUP}/subgroup-name"
TASK_PRIORITY_LABEL = f"{CONFIGURATION_GROUP}/task-priority"
MIN_MEMBER_ANNOTATION = f"{CONFIGURATION_GROUP}/batch-min-member"
"""On a Job or JobSet: how many of its pods start together; without it each starts by itself (docs/batch)."""
TOPOLOGY_ANNOTATION = f"{CONFIGURATION_GROUP}/topology"
REQUIRED_LEVEL_ANNOTATION = f"{CONFIGURATION_GROUP}/topology-required-placement"
PREFERRED_LEVEL_ANNOTATION = f"{CONFIGURATION_GROUP}/topology-preferred-placement"
SEGMENT_SIZE_ANNOTATION = f"{CONFIGURATION_GROUP}/segment-size"
SEGMENT_REQUIRED_LEVEL_ANNOTATION = f"{CONFIGURATION_GROUP}/segment-topology-required-placement"
SEGMENT_PREFERRED_LEVEL_ANNOTATION = f"{CONFIGURATION_GROUP}/segment-topology-preferred-placement"
MAX_SEGMENTS = 10_000

STALE_SINCE_ANNOTATION = f"{CONFIGURATION_GROUP}/stale-podgroup-timestamp"
LAST_START_ANNOTATION = f"{CONFIGURATION_GROUP}/last-start-timestamp"
LAST_EVICTION_ANNOTATION = f"{CONFIGURATION_GROUP}/last-eviction-timestamp"
ZONES_OBSERVED_ANNOTATION = f"{CONFIGURATION_GROUP}/numa-placement-observed"
ZONES_PREDICTED_ANNOTATION = f"{CONFIGURATION_GROUP}/numa-placement-predicted"

GPU_FRACTION_ANNOTATION = "gpu-fraction"
GPU_MEMORY_ANNOTATION = "gpu-memory"
GPU_DEVICES_ANNOTATION = "gpu-fraction-num-devices"
GPU_SHARING_ANNOTATIONS = (GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION, GPU_DEVICES_ANNOTATION)
GPU_GROUP_LABEL = "runai-gpu-group"
"""On a pod with a part of a device: the group of the pods that share it."""
GPU_GROUP_LABEL_PREFIX = f"{GPU_GROUP_LABEL}/"
"""On a pod with parts of several devices: the keys of its groups begin so."""
SHARED_GPU_CONFIG_MAP_ANNOTATION = "runai/shared-gpu-configmap"
APP_LABEL = "app"
RESERVATION_APP = "kai-resource-reservation"
SCALING_APP = "kai-scale-adjust"
MIG_WORKER_LABEL = "node-role.kubernetes.io/mig-enabled"
CPU_WORKER_LABEL = "node-role.kubernetes.io/cpu-worker"
GPU_WORKER_LABEL = "node-role.kubernetes.io/gpu-worker"

SHARED_QUEUE = "default-queue"
"""Where the pod grouper puts work that names no queue."""
CHART_QUEUES = ("default-parent-queue", SHARED_QUEUE)
DEFAULT_QUEUE_PRIORITY = 100

DEFAULT_SHARD = "default"
DEFAULT_SCHEDULER = "kai-scheduler"
SYSTEM_NAMESPACES = (DEFAULT_SCHEDULER, RESERVATION_APP, SCALING_APP)

DEFAULT_CLASS = "train"
DEPLOYMENT_CLASS = "inference"
BUILD_CLASS = "build"
"""What the pod grouper gives work without a class: by default, to a Deployment's, and to a notebook."""
DEFAULT_PRIORITY = 50
"""Of pod groups whose class is not known, where no class is the default of all."""
NON_PREEMPTIBLE_FROM = 100
"""The priority from which work is not preemptible unless it says otherwise."""
INSTALLED_CLASSES: Mapping[str, int] = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""Values of the PriorityClasses that the chart installs unless `defaultPriorityClasses.enabled` is false
(deployments/kai-scheduler/templates/priorityclasses).
"""

BINPACK, SPREAD = PLACEMENTS = ("binpack", "spread")
ACTIONS = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")

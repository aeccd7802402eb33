"""KAI's API versions, label and annotation keys, and the names of objects of its chart, at d5bc503a.

Source: pkg/common/constants/constants.go, pkg/podgrouper/podgrouper/plugins/constants/constants.go,
deployments/kai-scheduler/values.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping

TITLE = "KAI Scheduler"
"""The engine in prose."""
GROUP = "scheduling.run.ai"
QUEUE_API = f"{GROUP}/v2"
POD_GROUP_API = f"{GROUP}/v2alpha2"
BIND_REQUEST_API = f"{GROUP}/v1alpha2"
CONFIGURATION_GROUP = "kai.scheduler"
SHARD_API = CONFIG_API = f"{CONFIGURATION_GROUP}/v1"
TOPOLOGY_API = f"{CONFIGURATION_GROUP}/v1alpha1"

QUEUE_LABEL = f"{CONFIGURATION_GROUP}/queue"
NODE_POOL_LABEL = f"{CONFIGURATION_GROUP}/node-pool"
"""On a node: its scheduling shard."""
PREEMPTIBILITY_LABEL = f"{CONFIGURATION_GROUP}/preemptibility"
PREEMPTIBLE, NON_PREEMPTIBLE = PREEMPTIBILITIES = ("preemptible", "non-preemptible")
PRIORITY_CLASS_LABEL = "priorityClassName"
PROJECT_LABEL = "project"
USER_LABEL = "user"
PREEMPTION_DELAY_ANNOTATION = f"{CONFIGURATION_GROUP}/preemption-delay"
STALENESS_GRACE_ANNOTATION = f"{CONFIGURATION_GROUP}/staleness-grace-period"
SKIP_GROUPING_ANNOTATION = f"{CONFIGURATION_GROUP}/skip-podgrouper"
POD_GROUP_ANNOTATION = "pod-group-name"
"""On a pod: its PodGroup; if it is missing, the pod grouper creates one and sets it."""
TOP_OWNER_ANNOTATION = f"{CONFIGURATION_GROUP}/top-owner-metadata"
"""On a PodGroup: name, uid, group, version and kind of the owner that its pods are grouped by, as YAML."""
POD_GROUP_PREFIX = "pg"
"""Prefix of the names of PodGroups that the pod grouper creates."""
SUB_GROUP_LABEL = f"{CONFIGURATION_GROUP}/subgroup-name"
TASK_PRIORITY_LABEL = f"{CONFIGURATION_GROUP}/task-priority"
MIN_MEMBER_ANNOTATION = f"{CONFIGURATION_GROUP}/batch-min-member"
"""On a Job or JobSet: the number of pods that start together; without it, pods start independently (docs/batch)."""
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
MPS_ANNOTATION = "mps"
"""On a pod: `true` if it shares its GPU by MPS."""
GPU_SHARING_ANNOTATIONS = (GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION, GPU_DEVICES_ANNOTATION)
GPU_CONTAINER_ANNOTATION = "gpu-fraction-container-name"
"""On a pod: the container that gets the fraction; without it, the first one."""
GPU_GROUP_LABEL = "runai-gpu-group"
"""On a pod with a fraction of a device: the group of pods that share it."""
GPU_GROUP_LABEL_PREFIX = f"{GPU_GROUP_LABEL}/"
"""On a pod with fractions of several devices: prefix of the keys of its groups."""
SHARED_GPU_CONFIG_MAP_ANNOTATION = "runai/shared-gpu-configmap"
"""On a pod, written by KAI's admission webhook: prefix of the names of the ConfigMaps that its containers read."""
RECEIVED_TYPE_ANNOTATION = "received-resource-type"
RECEIVED_FRACTION = "Fraction"
"""What KAI's binder writes for that annotation to a pod that shares devices."""
RESERVED_DEVICE_ANNOTATION = "run.ai/reserve_for_gpu_index"
"""On a reservation pod, written by its own process: the UUID of the device that it holds."""
APP_LABEL = "app"
RESERVATION_APP = "kai-resource-reservation"
SCALING_APP = "kai-scale-adjust"
MIG_WORKER_LABEL = "node-role.kubernetes.io/mig-enabled"
CPU_WORKER_LABEL = "node-role.kubernetes.io/cpu-worker"
GPU_WORKER_LABEL = "node-role.kubernetes.io/gpu-worker"

SHARED_QUEUE = "default-queue"
"""The queue that the pod grouper assigns to workloads without one."""
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
"""Priority of pod groups with an unknown class, if there is no global default."""
NON_PREEMPTIBLE_FROM = 100
"""The priority from which workloads are non-preemptible by default."""
INSTALLED_CLASSES: Mapping[str, int] = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""Values of the PriorityClasses that the chart installs unless `defaultPriorityClasses.enabled` is false
(deployments/kai-scheduler/templates/priorityclasses).
"""

BINPACK, SPREAD = PLACEMENTS = ("binpack", "spread")
ACTIONS = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")

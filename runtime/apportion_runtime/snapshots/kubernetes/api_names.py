"""Labels, annotations and names that the engine reads.

Source: pkg/common/constants/constants.go, pkg/scheduler/plugins.
"""

GPU_FRACTION = "gpu-fraction"
GPU_MEMORY = "gpu-memory"
GPU_FRACTION_DEVICES = "gpu-fraction-num-devices"
GPU_GROUP = "runai-gpu-group"
GPU_GROUPS_PREFIX = "runai-gpu-group/"
POD_GROUP = "pod-group-name"
SUB_GROUP = "kai.scheduler/subgroup-name"
QUEUE = "kai.scheduler/queue"
NODE_POOL = "kai.scheduler/node-pool"
STALE_SINCE = "kai.scheduler/stale-podgroup-timestamp"
LAST_START = "kai.scheduler/last-start-timestamp"
LAST_EVICTION = "kai.scheduler/last-eviction-timestamp"
ZONES_OBSERVED = "kai.scheduler/numa-placement-observed"
ZONES_PREDICTED = "kai.scheduler/numa-placement-predicted"
SHARED_GPU_CONFIG_MAP = "runai/shared-gpu-configmap"
EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
APP = "app"
RESERVATION_APP = "kai-resource-reservation"
SCALING_APP = "kai-scale-adjust"
DEVICE_MEMORY = "nvidia.com/gpu.memory"
DEVICE_COUNT = "nvidia.com/gpu.count"
MIG_STRATEGY = "nvidia.com/mig.strategy"
MIG_WORKER = "node-role.kubernetes.io/mig-enabled"
CPU_WORKER = "node-role.kubernetes.io/cpu-worker"
GPU_WORKER = "node-role.kubernetes.io/gpu-worker"
WHOLE_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
DEFAULT_PRIORITY = 50
"""Of pod groups whose class is not known, where no class is the default of all."""
DEFAULT_QUEUE_PRIORITY = 100
PREEMPTIBLE_BELOW = 100

"""Kubernetes' own labels and annotations, and the resources and node labels of GPUs.

Source: k8s.io/api/core/v1/well_known_labels.go, NVIDIA's device plugin and GPU feature discovery.
"""

from __future__ import annotations

TITLE = "plain Kubernetes"
"""A cluster without another engine, in prose."""
SCHEDULING_GROUP = "scheduling.k8s.io"
PRIORITY_CLASS_API = f"{SCHEDULING_GROUP}/v1"

LAST_APPLIED_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
"""The last applied configuration of `kubectl apply`."""
HOSTNAME_LABEL = "kubernetes.io/hostname"
ZONE_LABEL = "topology.kubernetes.io/zone"
REGION_LABEL = "topology.kubernetes.io/region"
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
"""The name of a namespace, set on every namespace."""
JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
JOB_INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
"""The number of a Job's pod, set on each of its pods."""
EXTENDED_RESOURCE_CLAIM_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"

GPU_RESOURCE = "nvidia.com/gpu"
AMD_GPU_RESOURCE = "amd.com/gpu"
WHOLE_GPUS = (GPU_RESOURCE, AMD_GPU_RESOURCE)
GPU_PRODUCT_LABEL = "nvidia.com/gpu.product"
GPU_COUNT_LABEL = "nvidia.com/gpu.count"
GPU_MEMORY_LABEL = "nvidia.com/gpu.memory"
MIG_STRATEGY_LABEL = "nvidia.com/mig.strategy"

"""Keys of the labels that identify the nodes of a pool, which backends set and checks reserve.

`backends/pool_labels.py` determines the labels of a pool's nodes and their values.
"""

from __future__ import annotations

from collections.abc import Mapping

POOL_LABEL = "apportion.dev/node-pool"
"""Set on every node of every pool: flavors, shards and affinities select by it."""

GPU_MODEL_LABEL = "apportion.dev/gpu-model"
"""The policy's name for the GPU model, on nodes with GPUs; independent of the provider."""

GKE_ACCELERATOR_LABEL = "cloud.google.com/gke-accelerator"
"""GKE's own, on nodes with GPUs; the only label that selects a pool that GKE creates on request.

Source: cloud.google.com/kubernetes-engine/docs/how-to/node-auto-provisioning (GPUs).
"""

GKE_NODE_POOL_LABEL = "cloud.google.com/gke-nodepool"
"""GKE's own, on every node: the name of its node pool.

Source: cloud.google.com/kubernetes-engine/docs/concepts/node-pools (deploying Services to specific node pools).
"""

KARPENTER_GPU_LABEL = "karpenter.k8s.aws/instance-gpu-name"
"""Karpenter's own on AWS, on nodes with GPUs: EC2's name of the GPU in lower case.

Source: kubernetes-sigs/karpenter-provider-aws, pkg/apis/v1/labels.go.
"""

INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
"""Kubernetes' own, set by the provider: the machine type. Source: kubernetes.io/docs/reference/labels-annotations-taints."""

PROVIDER_NAMES: Mapping[str, str] = {
    "gke": "GKE",
    "ack": "ACK",
    "eks": "EKS",
    "karpenter": "Karpenter",
    "fixed": "fixed",
}
"""The providers' names in messages."""

_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "gke": ("cloud.google.com",),
    "ack": ("alibabacloud.com",),
    "eks": ("eks.amazonaws.com",),
    "karpenter": ("karpenter.sh", "karpenter.k8s.aws"),
}
_KUBERNETES = ("kubernetes.io", "k8s.io")
_OPEN = frozenset({"node.kubernetes.io", "kubelet.kubernetes.io"})


def is_provider_label(provider: str, key: str) -> bool:
    """Return whether a provider of machines sets a label itself, so that it is reserved."""
    return _is_within(key, _PROVIDERS.get(provider, ()))


def is_kubernetes_label(key: str) -> bool:
    """Return whether a label is reserved for Kubernetes, so that a kubelet cannot set it on its node.

    Source: the admission plugin NodeRestriction, which allows `node.kubernetes.io` and `kubelet.kubernetes.io`.
    """
    return _is_within(key, _KUBERNETES) and key.rpartition("/")[0] not in _OPEN


def _is_within(key: str, domains: tuple[str, ...]) -> bool:
    domain = key.rpartition("/")[0]
    return any(domain == one or domain.endswith(f".{one}") for one in domains)

"""Namespaces and label domains that are reserved for Kubernetes, engines and cluster add-ons.

A queue's owner gets access to its namespaces, and a queue's labels are copied to Namespaces: with these names, a policy
could give its author control of the cluster or disable its protections. Platform teams can add namespaces (`Rules`, and
the setting `reserved-namespaces`), but not remove any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

RESERVED_NAMESPACES: Mapping[str, str] = {
    # Created by the API server: pkg/controlplane/controller/systemnamespaces.
    "kube-*": "Kubernetes",
    "openshift": "OpenShift",
    "openshift-*": "OpenShift",
    "gke-*": "GKE",
    "gmp-*": "GKE",
    "config-management-*": "GKE",
    "cnrm-system": "GKE",
    "amazon-*": "EKS",
    "aws-*": "EKS",
    "karpenter": "Karpenter",
    "ack-*": "ACK",
    "arms-prom": "ACK",
    "azure-*": "Azure",
    "argo": "Argo Workflows",
    "argo-rollouts": "Argo Rollouts",
    "argocd": "Argo CD",
    "flux-system": "Flux",
    "pulumi-*": "Pulumi",
    "crossplane-system": "Crossplane",
    "cert-manager": "cert-manager",
    "external-secrets": "External Secrets",
    "sealed-secrets": "Sealed Secrets",
    "vault": "Vault",
    "gatekeeper-system": "Gatekeeper",
    "kyverno": "Kyverno",
    "opa": "Open Policy Agent",
    "falco": "Falco",
    "velero": "Velero",
    "istio-*": "Istio",
    "linkerd": "Linkerd",
    "linkerd-*": "Linkerd",
    "cilium": "Cilium",
    "cilium-*": "Cilium",
    "calico-*": "Calico",
    "tigera-operator": "Calico",
    "ingress-nginx": "ingress-nginx",
    "knative-*": "Knative",
    "kubeflow": "Kubeflow",
    "kuberay-*": "KubeRay",
    "ray-system": "KubeRay",
    "jobset-system": "JobSet",
    "lws-system": "LeaderWorkerSet",
    "gpu-operator": "NVIDIA GPU Operator",
    "nvidia-*": "NVIDIA",
    "network-operator": "NVIDIA Network Operator",
    "node-feature-discovery": "Node Feature Discovery",
    "kai-*": "KAI Scheduler",
    "runai": "Run:ai",
    "runai-*": "Run:ai",
    "kueue-system": "Kueue",
    "volcano-system": "Volcano",
    "volcano-monitoring": "Volcano",
    "koordinator-system": "Koordinator",
    "yunikorn": "YuniKorn",
    "apportion-*": "Apportion",
}
"""Names, or prefixes followed by `*`, and their owners."""

_LABEL_DOMAINS: tuple[str, ...] = (
    "kubernetes.io",
    "k8s.io",
    "openshift.io",
    "cloud.google.com",
    "gke.io",
    "eks.amazonaws.com",
    "aws.amazon.com",
    "karpenter.sh",
    "alibabacloud.com",
    "aliyun.com",
    "argoproj.io",
    "fluxcd.io",
    "helm.sh",
    "pulumi.com",
    "cert-manager.io",
    "gatekeeper.sh",
    "kyverno.io",
    "istio.io",
    "linkerd.io",
    "cilium.io",
    "projectcalico.org",
    "knative.dev",
    "kubeflow.org",
    "ray.io",
    "nvidia.com",
    "kai.scheduler",
    "run.ai",
    "volcano.sh",
    "koordinator.sh",
    "yunikorn.apache.org",
    "apportion.dev",
)
# Labels without a domain by which webhooks include or exclude a namespace.
_LABELS: Mapping[str, str] = {
    "istio-injection": "Istio",
    "control-plane": "Gatekeeper",
    "runai": "Run:ai",
    "runai/queue": "Run:ai",
}

# A single lookup suffices for most namespaces, which are not reserved.
_EXACT = frozenset(RESERVED_NAMESPACES)
_PREFIXES = tuple(pattern[:-1] for pattern in RESERVED_NAMESPACES if pattern.endswith("*"))


def namespace_owner(namespace: str, added: Iterable[str] = ()) -> str | None:
    """Return the owner of a reserved namespace; None if a queue may have it.

    Args:
        namespace: The name.
        added: Further names that the platform team reserves, or prefixes followed by `*`.
    """
    if namespace in _EXACT or namespace.startswith(_PREFIXES):
        return next(owner for pattern, owner in RESERVED_NAMESPACES.items() if _matches(namespace, pattern))
    return "the platform team" if any(_matches(namespace, pattern) for pattern in added) else None


def _matches(namespace: str, pattern: str) -> bool:
    return namespace == pattern or (pattern.endswith("*") and namespace.startswith(pattern[:-1]))


def label_owner(key: str) -> str | None:
    """Return the domain or program that owns a label; None if an author may set it."""
    domain = key.rpartition("/")[0].lower()
    for reserved in _LABEL_DOMAINS:
        if domain == reserved or domain.endswith(f".{reserved}"):
            return reserved
    return _LABELS.get(key)

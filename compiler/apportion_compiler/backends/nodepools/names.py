"""The providers' names of taint effects."""

from __future__ import annotations

CLOUD_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
"""How the APIs of GKE and EKS spell the effect of a taint; ACK's and Karpenter's spell it as Kubernetes does."""

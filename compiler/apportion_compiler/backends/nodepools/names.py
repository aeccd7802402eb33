"""The providers' names of taint effects."""

from __future__ import annotations

CLOUD_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
"""Taint effects in the spelling of the GKE and EKS APIs; ACK and Karpenter use that of Kubernetes."""

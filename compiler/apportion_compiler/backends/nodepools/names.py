"""Names that providers take for node pools, and their words for the effects of taints."""

from __future__ import annotations

import re

from apportion_compiler.kubernetes_names import object_name

_GKE_NAME = re.compile(r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?")
_GKE_LENGTH = 40

CLOUD_EFFECTS = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
"""How the APIs of GKE and EKS spell the effect of a taint; ACK's and Karpenter's spell it as Kubernetes does."""


def gke_name(id_: str) -> str:
    """Return a node pool's name on GKE: at most 40 characters, a letter first, no dots.

    Source: cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools, `name`.
    """
    if _GKE_NAME.fullmatch(id_):
        return id_
    # object_name gives an identity that is too long or has other characters a digest of the whole: keep that end.
    readable, _, digest = object_name(f"{id_}/").rpartition("-")
    head = re.sub(r"[^a-z0-9-]+", "-", readable).strip("-")
    head = head if head[:1].isalpha() else f"p-{head}"
    return f"{head[: _GKE_LENGTH - len(digest) - 1].rstrip('-')}-{digest}"

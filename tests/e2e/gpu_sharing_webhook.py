"""A stand-in for KAI's admission webhook, which prepares pods that share a GPU when they are created.

Source: pkg/admission/webhook/v1alpha2/gpusharing/gpu_sharing.go, pkg/binder/common/gpusharingconfigmap/config_map.go.
"""

from __future__ import annotations

import copy
import secrets
from typing import Any

from apportion_api.kai.names import GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION, SHARED_GPU_CONFIG_MAP_ANNOTATION

WEBHOOK = "gpu-sharing.example.com"
_VARIABLES = ("NVIDIA_VISIBLE_DEVICES", "RUNAI_NUM_OF_GPUS", "GPU_PORTION")


def prepared_if_sharing(pod: dict[str, Any]) -> dict[str, Any]:
    """Return a new pod with its preparation; the same pod if it shares no GPU."""
    meta = pod["metadata"]
    if not {GPU_FRACTION_ANNOTATION, GPU_MEMORY_ANNOTATION} & set(meta.get("annotations") or {}):
        return pod
    name = meta.get("name") or meta["generateName"].rstrip("-")
    return prepared(pod, f"{name}-{secrets.token_hex(4)}-shared-gpu")


def prepared(pod: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return a pod that reads its devices from ConfigMaps with a prefix."""
    made = copy.deepcopy(pod)
    made["metadata"]["annotations"][SHARED_GPU_CONFIG_MAP_ANNOTATION] = prefix
    container = made["spec"]["containers"][0]
    variables = (
        {"name": key, "valueFrom": {"configMapKeyRef": {"name": f"{prefix}-0", "key": key}}} for key in _VARIABLES
    )
    container["env"] = [*container.get("env", ()), *variables]
    evar = {"configMapRef": {"name": f"{prefix}-0-evar", "optional": False}}
    container["envFrom"] = [*container.get("envFrom", ()), evar]
    volume = {"name": f"{prefix}-0-vol", "configMap": {"name": f"{prefix}-0"}}
    made["spec"]["volumes"] = [*made["spec"].get("volumes", ()), volume]
    return made

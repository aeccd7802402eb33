"""The rules of KAI's admission webhook for the annotations by which a pod shares GPUs.

Source: pkg/binder/plugins/gpusharing/gpu-request/gpu_request_validator.go (ValidateGpuRequests) at d5bc503a.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from apportion_api.kai.names import (
    GPU_DEVICES_ANNOTATION,
    GPU_FRACTION_ANNOTATION,
    GPU_MEMORY_ANNOTATION,
    MPS_ANNOTATION,
)
from apportion_api.kubernetes.names import GPU_RESOURCE

_FRACTION = re.compile(r"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_POSITIVE = re.compile(r"0*([1-9]\d{0,19})", re.ASCII)
_MAX_UNSIGNED = 2**64


class GpuSharingFault(NamedTuple):
    """Annotations that the webhook rejects.

    Attributes:
        annotation: The key of the annotation.
        message: The webhook's message; for an invalid value, without the value.
        cure: What to change, as an imperative.
        expected: Valid values, as a phrase; None if the annotation conflicts with others or with a GPU limit.
    """

    annotation: str
    message: str
    cure: str
    expected: str | None = None


_MPS_ALONE = GpuSharingFault(
    MPS_ANNOTATION,
    "MPS is only supported with GPU fraction request",
    f"also set the annotation {GPU_FRACTION_ANNOTATION} or {GPU_MEMORY_ANNOTATION}, or remove {MPS_ANNOTATION}",
)
_FRACTION_OF_WHOLE = GpuSharingFault(
    GPU_FRACTION_ANNOTATION,
    "cannot have both GPU fraction request and whole GPU resource request/limit",
    f"remove {GPU_RESOURCE} from requests and limits, or remove the annotation",
)
_MEMORY_OF_OTHERS = GpuSharingFault(
    GPU_MEMORY_ANNOTATION,
    "cannot request both GPU and GPU memory",
    "request only one of these: a fraction, GPU memory, or whole GPUs",
)
_DEVICES_ALONE = GpuSharingFault(
    GPU_DEVICES_ANNOTATION,
    "cannot request multiple fractional devices without specifying fraction portion or gpu-memory",
    f"also set the annotation {GPU_FRACTION_ANNOTATION} to the fraction of each device",
)
_INVALID_MEMORY = GpuSharingFault(
    GPU_MEMORY_ANNOTATION,
    "gpu-memory annotation value must be a positive integer greater than 0",
    "specify the memory in MiB, such as 2000",
    "a positive integer in MiB, such as 2000",
)
_INVALID_FRACTION = GpuSharingFault(
    GPU_FRACTION_ANNOTATION,
    "gpu-fraction annotation value must be a positive number smaller than 1.0",
    "use a fraction such as 0.5, or set whole GPUs in limits",
    "more than 0 and less than 1, such as 0.5",
)
_INVALID_DEVICES = GpuSharingFault(
    GPU_DEVICES_ANNOTATION,
    "fraction count annotation value must be a positive integer greater than 0",
    "specify the number of devices, such as 2",
    "a positive integer, such as 2",
)


def gpu_sharing_fault(annotations: Mapping[str, str], *, has_gpu_limit: bool) -> GpuSharingFault | None:
    """Return the first fault of a pod, in the order of the webhook; None if the webhook accepts it.

    Args:
        annotations: The annotations of the pod.
        has_gpu_limit: Whether a container of the pod, possibly an init container, has a limit of whole GPUs.
    """
    fraction, memory = annotations.get(GPU_FRACTION_ANNOTATION), annotations.get(GPU_MEMORY_ANNOTATION)
    devices = annotations.get(GPU_DEVICES_ANNOTATION)
    if annotations.get(MPS_ANNOTATION) == "true" and fraction is None and memory is None:
        return _MPS_ALONE
    if fraction is not None and has_gpu_limit:
        return _FRACTION_OF_WHOLE
    if memory is not None and (fraction is not None or has_gpu_limit):
        return _MEMORY_OF_OTHERS
    if devices is not None and fraction is None and memory is None:
        return _DEVICES_ALONE
    if memory is not None and not _is_positive(memory):
        return _INVALID_MEMORY
    if fraction is not None and not _is_part(fraction):
        return _INVALID_FRACTION
    if devices is not None and not _is_positive(devices):
        return _INVALID_DEVICES
    return None


def _is_part(text: str) -> bool:
    return _FRACTION.fullmatch(text) is not None and 0 < float(text) < 1


def _is_positive(text: str) -> bool:
    found = _POSITIVE.fullmatch(text)
    return found is not None and int(found[1]) < _MAX_UNSIGNED

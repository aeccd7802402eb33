"""GPU fractions: the rules of KAI's admission webhook for pods, with its messages.

Source: pkg/binder/plugins/gpusharing/gpu-request (ValidateGpuRequests) of KAI Scheduler 0.17.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import cast

from apportion_api.kai import names
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import Rule, WorkloadContext, template_field
from apportion_compiler.plain_objects import annotations_of, items, mapping
from apportion_compiler.workload_shapes import PodSet

_GPU = GPU_RESOURCE
_FRACTION, _MEMORY, _DEVICES = names.GPU_SHARING_ANNOTATIONS
_MAX_UNSIGNED = 2**64


def gpu_sharing(context: WorkloadContext) -> Iterator[Verdict]:
    """Yield what the webhook rejects; like the webhook, only the first fault of each pod."""
    for workload in context.workloads:
        # The webhook validates only pods, so the owner is accepted but gets no pods.
        verdict = workload.rejected if workload.is_bare else workload.pending
        for pods in workload.sets:
            for annotation, message, cure in _faults(pods):
                field = template_field(pods, "metadata", f"annotations[{annotation}]")
                yield verdict(field, "Invalid", message, cure)
                break


def _faults(pods: PodSet) -> Iterator[tuple[str, str, str]]:
    annotations = annotations_of(cast("Manifest", pods.template))
    fraction, memory, devices = (annotations.get(key) for key in (_FRACTION, _MEMORY, _DEVICES))
    containers = (*items(pods.spec, "containers"), *items(pods.spec, "initContainers"))
    has_device = any(_GPU in mapping(container, "resources", "limits") for container in containers)
    drop = f"remove {_GPU} from requests and limits, or remove the annotation"
    if fraction is not None and has_device:
        yield _FRACTION, "cannot have both GPU fraction request and whole GPU resource request/limit", drop
    if memory is not None and (fraction is not None or has_device):
        yield _MEMORY, "cannot request both GPU and GPU memory", "request a fraction, GPU memory, or whole GPUs"
    if devices is not None and fraction is None and memory is None:
        yield (
            _DEVICES,
            "cannot request multiple fractional devices without specifying fraction portion or gpu-memory",
            f"also set the annotation {_FRACTION} to the fraction of each device",
        )
    if memory is not None and not _is_positive(memory):
        yield (
            _MEMORY,
            f"gpu-memory annotation value must be a positive integer greater than 0, not {memory}",
            "use a number of MiB, such as 2000",
        )
    if fraction is not None and not _is_part(fraction):
        yield (
            _FRACTION,
            f"gpu-fraction annotation value must be a positive number smaller than 1.0, not {fraction}",
            "use a fraction such as 0.5, or set whole GPUs in limits",
        )
    if devices is not None and not _is_positive(devices):
        yield (
            _DEVICES,
            f"fraction count annotation value must be a positive integer greater than 0, not {devices}",
            "use a number of devices, such as 2",
        )


def _is_part(text: str) -> bool:
    try:
        return 0 < Decimal(text) < 1
    except InvalidOperation:
        return False


def _is_positive(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 21 and 0 < int(text) < _MAX_UNSIGNED


RULES: tuple[Rule, ...] = (gpu_sharing,)

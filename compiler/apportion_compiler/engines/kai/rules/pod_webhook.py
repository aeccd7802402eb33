"""GPU sharing: the rules of KAI's admission webhook for pods, with its messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from apportion_api.kai.gpu_sharing import gpu_sharing_fault
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import Rule, WorkloadContext, template_field
from apportion_compiler.plain_objects import annotations_of, items, mapping


def gpu_sharing(context: WorkloadContext) -> Iterator[Verdict]:
    """Yield what the webhook rejects; like the webhook, only the first fault of each pod."""
    for workload in context.workloads:
        # The webhook validates only pods, so the owner is accepted but gets no pods.
        verdict = workload.rejected if workload.is_bare else workload.pending
        for pods in workload.sets:
            annotations = annotations_of(cast("Manifest", pods.template))
            containers = (*items(pods.spec, "containers"), *items(pods.spec, "initContainers"))
            has_limit = any(GPU_RESOURCE in mapping(container, "resources", "limits") for container in containers)
            fault = gpu_sharing_fault(annotations, has_gpu_limit=has_limit)
            if fault is not None:
                value = "" if fault.expected is None else f", not {annotations[fault.annotation]}"
                field = template_field(pods, "metadata", f"annotations[{fault.annotation}]")
                yield verdict(field, "Invalid", f"{fault.message}{value}", fault.cure)


RULES: tuple[Rule, ...] = (gpu_sharing,)

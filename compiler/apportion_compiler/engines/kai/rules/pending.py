"""KAI: labels that KubeRay and the pod grouper read, and GPU fractions."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kai import names
from apportion_api.kai.objects import Queue
from apportion_api.objects import read
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import (
    Rule,
    WorkloadContext,
    listed,
)
from apportion_compiler.engines.kai.rules.pod_webhook import gpu_sharing
from apportion_compiler.plain_objects import text


def _labels(context: WorkloadContext) -> Iterator[Verdict]:
    """Report Ray workloads without a queue, which KubeRay also passes to KAI (batchscheduler/kai-scheduler)."""
    for workload in context.workloads:
        is_ours = workload.is_of("ray.io") and not workload.is_for_another("kai")
        if is_ours and not workload.every_pod_has(names.QUEUE_LABEL):
            yield workload.pending(
                f"metadata.labels[{names.QUEUE_LABEL}]", "Required",
                f"Queue label missing from {workload.kind}; pods will remain pending",
                f"add the label {names.QUEUE_LABEL}: <queue>",
            )  # fmt: skip


def _queues(context: WorkloadContext) -> Iterator[Verdict]:
    queues = {name: read(Queue, found) for name, found in context.named(names.GROUP, "Queue").items()}
    if not queues:
        return
    inner = {queue.parent for queue in queues.values()}
    leaves = queues.keys() - inner
    for workload in context.workloads:
        for name in sorted(workload.values_of(names.QUEUE_LABEL)):
            field = f"metadata.labels[{names.QUEUE_LABEL}]"
            if name not in queues and name != names.SHARED_QUEUE:
                yield workload.pending(
                    field, "NotFound", f"queue {name} does not exist, so KAI never schedules the pods",
                    f"use one of {listed(leaves)}",
                )  # fmt: skip
            elif name in inner:
                below = [child for child, queue in queues.items() if queue.parent == name]
                yield workload.pending(
                    field, "Invalid", f"queue {name} has child queues, but only leaf queues can run workloads",
                    f"use a leaf queue below {name}, such as {listed(below)}",
                )  # fmt: skip


def _submission(context: WorkloadContext) -> Iterator[Verdict]:
    for workload in context.workloads:
        if workload.is_of("ray.io", "RayJob") and not workload.is_for_another("kai"):
            mode = text(workload.manifest, "spec", "submissionMode")
            if mode in {None, "K8sJobMode"}:
                written = "" if mode else ", which is the default"
                yield workload.pending(
                    "spec.submissionMode", "NotSupported",
                    f"KAI-Scheduler does not support RayJob with K8sJobMode{written}: no RayCluster is created in this mode",
                    "set submissionMode to HTTPMode or SidecarMode",
                )  # fmt: skip


def _schedulers(context: WorkloadContext) -> Iterator[Verdict]:
    for workload in context.workloads:
        # KubeRay sets the scheduler name of Ray's pods.
        if workload.is_of("ray.io") or not workload.values_of(names.QUEUE_LABEL):
            continue
        yield from workload.past_the_queue(names.DEFAULT_SCHEDULER)


RULES: tuple[Rule, ...] = (_labels, _queues, _submission, _schedulers, gpu_sharing)

"""Volcano: queues that do not exist or have children, gangs with too few pods, and pods that bypass the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast

from apportion_api.objects import is_a, read
from apportion_api.volcano import names
from apportion_api.volcano.names import BATCH_GROUP
from apportion_api.volcano.objects import PodGroup, Queue
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import (
    Rule,
    Workload,
    WorkloadContext,
    listed,
    template_field,
)
from apportion_compiler.plain_objects import annotations_of, integer, labels_of, text


def _named(workload: Workload) -> dict[str, str]:
    """Return the queues that a workload names, by the field."""
    found = {f"metadata.annotations[{names.QUEUE_ANNOTATION}]": annotations_of(workload.manifest)}
    queues = {
        field: annotations[names.QUEUE_ANNOTATION]
        for field, annotations in found.items()
        if names.QUEUE_ANNOTATION in annotations
    }
    for pods in workload.sets:
        annotations = annotations_of(cast("Manifest", pods.template))
        if names.QUEUE_ANNOTATION in annotations:
            field = template_field(pods, "metadata", f"annotations[{names.QUEUE_ANNOTATION}]")
            queues[field] = annotations[names.QUEUE_ANNOTATION]
    if workload.is_of("ray.io") and names.QUEUE_LABEL in labels_of(workload.manifest):
        queues[f"metadata.labels[{names.QUEUE_LABEL}]"] = labels_of(workload.manifest)[names.QUEUE_LABEL]
    if workload.is_of(BATCH_GROUP):
        queue = text(workload.manifest, "spec", "queue")
        if queue is not None:
            queues["spec.queue"] = queue
    return queues


def _queues(context: WorkloadContext) -> Iterator[Verdict]:
    queues = {queue.name: queue.parent for queue in context.read(Queue)}
    if not queues:
        return
    inner = {*queues.values(), names.ROOT_QUEUE}
    leaves = queues.keys() - inner
    for workload in context.workloads:
        # The webhook evaluates Volcano's Job; a PodGroup that a controller creates fails without a visible error.
        verdict = workload.rejected if workload.is_of(BATCH_GROUP) else workload.pending
        seen: set[str] = set()
        for field, queue in _named(workload).items():
            if queue in seen:
                continue
            seen.add(queue)
            if queue in inner:
                message, cure = f"can only submit job to leaf queue, but {queue} has child queues", "use a leaf queue"
                yield verdict(field, "Invalid", message, f"{cure}: {listed(leaves)}")
            elif queue not in queues and queue != names.SHARED_QUEUE:
                yield verdict(field, "NotFound", f"unable to find job queue: {queue}", f"use one of {listed(leaves)}")


def _schedulers(context: WorkloadContext) -> Iterator[Verdict]:
    for workload in context.workloads:
        # Volcano and KubeRay set the scheduler name of the pods that they create.
        if workload.is_of(BATCH_GROUP) or workload.is_of("ray.io") or not _named(workload):
            continue
        yield from workload.past_the_queue(names.SCHEDULER)


def _gangs(context: WorkloadContext) -> Iterator[Verdict]:
    members: Counter[tuple[str, str]] = Counter()
    for workload in context.workloads:
        wanted = integer(workload.manifest, "spec", "minAvailable") if workload.is_of(BATCH_GROUP) else None
        if wanted is not None and wanted > workload.n_pods:
            yield workload.rejected(
                "spec.minAvailable", "Invalid",
                f"job 'minAvailable' should not be greater than total replicas in tasks: {workload.n_pods}",
                f"use at most {workload.n_pods}",
            )  # fmt: skip
        for pods in workload.sets:
            name = annotations_of(cast("Manifest", pods.template)).get(names.GROUP_ANNOTATION)
            if name is not None:
                members[workload.namespace, name] += pods.count
    for index, manifest in enumerate(context.manifests):
        if is_a(PodGroup, manifest):
            group = read(PodGroup, manifest)
            key, least = (group.namespace or "default", group.name), group.min_member
            if least is not None and key in members and members[key] < least:
                yield Verdict(
                    Effect.PENDING, index, "spec.minMember", "Invalid",
                    f"the pod group waits for {least} pods, but has only {members[key]}",
                    f"set minMember to at most {members[key]}",
                )  # fmt: skip


RULES: tuple[Rule, ...] = (_queues, _schedulers, _gangs)

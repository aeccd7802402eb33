"""KAI: labels that KubeRay and the pod grouper read, and parts of GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import cast

from apportion_compiler.backends.kai import names
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.site import Rule, Site, Workload, listed, template_field
from apportion_compiler.plain_objects import annotations_of, items, mapping, text
from apportion_compiler.workload_shapes import PodSet

_GPU = "nvidia.com/gpu"


def _labels(site: Site) -> Iterator[Verdict]:
    """KubeRay gives Ray's pods to KAI whether they have a queue or not (batchscheduler/kai-scheduler)."""
    for workload in site.workloads:
        is_ours = workload.is_of("ray.io") and not workload.is_for_another("kai")
        if is_ours and not workload.is_marked(names.QUEUE_LABEL):
            yield workload.pending(
                f"metadata.labels[{names.QUEUE_LABEL}]", "Required",
                f"Queue label missing from {workload.kind}; pods will remain pending",
                f"label it {names.QUEUE_LABEL}: <queue>",
            )  # fmt: skip


def _queues(site: Site) -> Iterator[Verdict]:
    queues = site.named("scheduling.run.ai", "Queue")
    if not queues:
        return
    inner = {text(queue, "spec", "parentQueue") for queue in queues.values()}
    leaves = queues.keys() - inner
    for workload in site.workloads:
        for name in sorted(workload.marked(names.QUEUE_LABEL)):
            field = f"metadata.labels[{names.QUEUE_LABEL}]"
            if name not in queues and name != names.SHARED_QUEUE:
                yield workload.pending(
                    field, "NotFound", f"there is no queue {name}, so KAI never schedules the pods",
                    f"name one of {listed(leaves)}",
                )  # fmt: skip
            elif name in inner:
                below = [child for child, queue in queues.items() if text(queue, "spec", "parentQueue") == name]
                yield workload.pending(
                    field, "Invalid", f"queue {name} holds queues, and only a leaf holds work",
                    f"name one below it, such as {listed(below)}",
                )  # fmt: skip


def _submission(site: Site) -> Iterator[Verdict]:
    for workload in site.workloads:
        if workload.is_of("ray.io", "RayJob") and not workload.is_for_another("kai"):
            mode = text(workload.manifest, "spec", "submissionMode")
            if mode in {None, "K8sJobMode"}:
                written = "" if mode else ", which is the default"
                yield workload.pending(
                    "spec.submissionMode", "NotSupported",
                    f"KAI-Scheduler does not support RayJob with K8sJobMode{written}: no cluster is made",
                    "write submissionMode: HTTPMode, or SidecarMode",
                )  # fmt: skip


def _schedulers(site: Site) -> Iterator[Verdict]:
    for workload in site.workloads:
        # KubeRay writes the name into Ray's pods itself.
        if workload.is_of("ray.io") or not workload.marked(names.QUEUE_LABEL):
            continue
        for pods in workload.sets:
            if text(pods.spec, "schedulerName") in {None, "default-scheduler"}:
                yield workload.ignored(
                    template_field(pods, "spec", "schedulerName"), "Required",
                    "without schedulerName the pods go to Kubernetes' own scheduler, past the queue",
                    f"write schedulerName: {names.DEFAULT_SCHEDULER}",
                )  # fmt: skip


def _parts(site: Site) -> Iterator[Verdict]:
    """What KAI's admission webhook refuses of a pod (pkg/binder/plugins/gpusharing/gpu-request)."""
    for workload in site.workloads:
        for pods in workload.sets:
            fraction = annotations_of(cast("Manifest", pods.template)).get(names.GPU_FRACTION_ANNOTATION)
            if fraction is not None:
                yield from _part(workload, pods, fraction)


def _part(workload: Workload, pods: PodSet, fraction: str) -> Iterator[Verdict]:
    # The webhook looks at pods alone, so that what owns them is accepted and gets none.
    verdict = workload.rejected if workload.is_bare else workload.pending
    field = template_field(pods, "metadata", f"annotations[{names.GPU_FRACTION_ANNOTATION}]")
    try:
        is_part = 0 < Decimal(fraction) < 1
    except InvalidOperation:
        is_part = False
    if not is_part:
        yield verdict(
            field, "Invalid", f"gpu-fraction {fraction} does not lie between 0 and 1, so the pods are refused",
            "write a part such as 0.5; ask for whole GPUs under limits",
        )  # fmt: skip
    if any(_GPU in mapping(container, "resources", "limits") for container in items(pods.spec, "containers")):
        yield verdict(
            field, "Invalid", f"gpu-fraction beside a limit of {_GPU}: the pods are refused",
            f"leave {_GPU} out of requests and limits, or the annotation",
        )  # fmt: skip


RULES: tuple[Rule, ...] = (_labels, _queues, _submission, _schedulers, _parts)

"""Kueue: missing LocalQueues, resources without a quota, and Ray objects that its webhooks reject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.kueue.names import DEFAULT_QUEUE, QUEUE_LABEL
from apportion_api.kueue.objects import ClusterQueue
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import (
    Rule,
    Workload,
    WorkloadContext,
    listed,
    template_field,
)
from apportion_compiler.engines.kueue.rules.potential_quota import placed, unreachable
from apportion_compiler.engines.kueue.rules.queued_pod_sets import several_pod_sets
from apportion_compiler.engines.kueue.rules.request_parameters import overridden_parameters
from apportion_compiler.plain_objects import items, labels_of, mapping

_MAX_POD_SETS = 18
_CLUSTERS = {"RayJob": ("spec", "rayClusterSpec"), "RayCluster": ("spec",), "RayService": ("spec", "rayClusterConfig")}
_QUEUED_ANYHOW = frozenset({"batch", "ray.io", "kubeflow.org", "jobset.x-k8s.io"})


def _queue(workload: Workload) -> str | None:
    # A CronJob is not queued; its Jobs are.
    return labels_of(workload.owners[-1] if workload.kind == "CronJob" else workload.manifest).get(QUEUE_LABEL)


def _labels(context: WorkloadContext) -> Iterator[Verdict]:
    locals_ = placed(context)
    for workload in context.workloads:
        queue = _queue(workload)
        at = "spec.jobTemplate.metadata" if workload.kind == "CronJob" else "metadata"
        field = f"{at}.labels[{QUEUE_LABEL}]"
        if workload.is_for_another("kueue"):
            continue
        there = {name for namespace, name in locals_ if namespace == workload.namespace}
        if queue is None and DEFAULT_QUEUE not in there and workload.shape.group in _QUEUED_ANYHOW:
            if workload.suspended():
                yield workload.pending(
                    field, "Required", "the workload is suspended and has no queue label, so Kueue never resumes it",
                    f"add the label {QUEUE_LABEL}: <LocalQueue>",
                )  # fmt: skip
            else:
                yield workload.ignored(
                    field, "Required", "without a queue label, the workload bypasses Kueue and all quotas",
                    f"add the label {QUEUE_LABEL}: <LocalQueue>",
                )  # fmt: skip
        elif queue is not None and locals_ and queue not in there:
            yield workload.pending(
                field, "NotFound", f"LocalQueue {queue} does not exist in namespace {workload.namespace}",
                f"use one of {listed(there)}",
            )  # fmt: skip


def _coverage(context: WorkloadContext) -> Iterator[Verdict]:
    """Report workloads that request a resource that no group of the ClusterQueue covers: they are inadmissible."""
    locals_ = placed(context)
    queues = {queue.name: queue for queue in context.read(ClusterQueue)}
    for workload in context.workloads:
        name = locals_.get((workload.namespace, _queue(workload) or DEFAULT_QUEUE)) or ""
        if name not in queues:
            continue
        covered = {resource for group in queues[name].groups for resource in group.resources}
        for pods in workload.sets:
            for number, container in enumerate(items(pods.spec, "containers")):
                asked = {**mapping(container, "resources", "limits"), **mapping(container, "resources", "requests")}
                for resource in (name for name in asked if name not in covered):
                    yield workload.pending(
                        template_field(pods, "spec", f"containers[{number}]", f"resources.requests[{resource}]"),
                        "NotSupported",
                        f"no resource group in ClusterQueue {name} covers {resource}, "
                        "so the workload is inadmissible",
                        f"add {resource} to a resource group in the ClusterQueue, or request only {listed(covered)}",
                    )  # fmt: skip


def _ray(context: WorkloadContext) -> Iterator[Verdict]:
    """Report Ray objects that the webhooks reject (pkg/controller/jobs/{rayjob,raycluster} at ff69552e79)."""
    for workload in context.workloads:
        if not workload.is_of("ray.io") or _queue(workload) is None:
            continue
        path = _CLUSTERS[workload.kind]
        cluster = mapping(workload.manifest, *path)
        at = ".".join(path)
        if workload.kind == "RayJob":
            yield from _ray_job(workload, mapping(workload.manifest, "spec"))
        if cluster.get("enableInTreeAutoscaling") is True:
            yield workload.rejected(
                f"{at}.enableInTreeAutoscaling", "Invalid", "a kueue managed job should not use autoscaling",
                "remove enableInTreeAutoscaling",
            )  # fmt: skip
        n_sets = 1 + len(items(cluster, "workerGroupSpecs"))
        if n_sets > _MAX_POD_SETS:
            yield workload.rejected(
                f"{at}.workerGroupSpecs", "TooMany", f"must have at most {_MAX_POD_SETS - 1} items",
                "merge identical worker groups",
            )  # fmt: skip


def _ray_job(workload: Workload, spec: Mapping[str, object]) -> Iterator[Verdict]:
    selects, has_cluster = bool(spec.get("clusterSelector")), bool(spec.get("rayClusterSpec"))
    if selects and has_cluster:
        yield workload.rejected(
            "spec.clusterSelector", "Invalid", "a kueue managed job should not use an existing cluster",
            "remove clusterSelector",
        )  # fmt: skip
    elif not selects and not has_cluster:
        yield workload.rejected(
            "spec.rayClusterSpec", "Required",
            "rayClusterSpec is required for Kueue-managed jobs that don't use clusterSelector", "set rayClusterSpec",
        )  # fmt: skip
    elif has_cluster and spec.get("shutdownAfterJobFinishes") is not True:
        yield workload.rejected(
            "spec.shutdownAfterJobFinishes", "Invalid", "a kueue managed job should delete the cluster after finishing",
            "set shutdownAfterJobFinishes: true",
        )  # fmt: skip


RULES: tuple[Rule, ...] = (_labels, _coverage, unreachable, several_pod_sets, overridden_parameters, _ray)

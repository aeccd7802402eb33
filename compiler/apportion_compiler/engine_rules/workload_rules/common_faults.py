"""Faults that prevent pods from being created or scheduled on any engine: amounts, classes, names, suspension."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.ack.names import TREE_GROUP
from apportion_api.counted_nouns import counted
from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import (
    Rule,
    Workload,
    WorkloadContext,
    listed,
    template_field,
)
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.plain_objects import integer, items, mapping, name_of, text
from apportion_compiler.workload_shapes import PodSet
from apportion_policy.errors import QuantityError
from apportion_policy.quantity import parse_count

_SYSTEM = frozenset({"system-cluster-critical", "system-node-critical"})
_OVERCOMMITTED = frozenset({"cpu", "memory", "ephemeral-storage"})


def devices(context: WorkloadContext) -> Iterator[Verdict]:
    """Report fractional devices, and device requests without an equal limit (pkg/apis/core/validation at 1.36)."""
    for workload in context.workloads:
        for pods in workload.sets:
            for list_ in ("initContainers", "containers"):
                for number, container in enumerate(items(pods.spec, list_)):
                    field = template_field(pods, "spec", f"{list_}[{number}]", "resources")
                    yield from _container_devices(workload, field, mapping(container, "resources"))


def _container_devices(workload: Workload, field: str, resources: object) -> Iterator[Verdict]:
    requests, limits = mapping(resources, "requests"), mapping(resources, "limits")
    for name in dict.fromkeys((*requests, *limits)):
        if name in _OVERCOMMITTED or "/" not in name:
            continue
        amounts = [section[name] for section in (requests, limits) if name in section]
        if not all(_is_whole(amount) for amount in amounts):
            yield workload.pods_rejected(
                f"{field}.limits[{name}]", "Invalid", f"{name}: must be an integer, not {amounts[0]}",
                "request whole devices; the engine's documentation describes how to request a fraction of one",
            )  # fmt: skip
        elif name not in limits:
            yield workload.pods_rejected(
                f"{field}.limits[{name}]", "Required",
                f"{name}: Limit must be set for non overcommitable resources, so the pods are rejected",
                f"set the same amount under limits: {name}: {requests[name]}",
            )  # fmt: skip
        elif name in requests and _count(requests[name]) != _count(limits[name]):
            yield workload.pods_rejected(
                f"{field}.requests[{name}]", "Invalid", f"{requests[name]}: must be equal to {name} limit of "
                f"{limits[name]}",
                "set the same amount under requests and limits",
            )  # fmt: skip


def _is_whole(amount: object) -> bool:
    try:
        return isinstance(_count(amount), int)
    except QuantityError:
        return False


def _count(amount: object) -> object:
    return parse_count(amount if isinstance(amount, int | float) and not isinstance(amount, bool) else str(amount))


def _classes(context: WorkloadContext) -> Iterator[Verdict]:
    """Report undefined classes, whose pods admission rejects. Skipped if the manifests contain no classes."""
    known = set(context.named(SCHEDULING_GROUP, "PriorityClass"))
    if not known:
        return
    known |= _SYSTEM | TRAITS[context.engine].installed_classes
    for workload in context.workloads:
        for pods in workload.sets:
            name = text(pods.spec, "priorityClassName")
            if name is not None and name not in known:
                message = f"no PriorityClass with name {name} was found, so the pods are rejected"
                verdict = workload.rejected if workload.is_bare else workload.pending
                field = template_field(pods, "spec", "priorityClassName")
                yield verdict(field, "NotFound", message, f"use one of {listed(known - _SYSTEM)}")


def _switches(context: WorkloadContext) -> Iterator[Verdict]:
    # Kueue and kube-queue can run with a different scheduler, and manifests are also evaluated without an engine.
    if TRAITS[context.engine].resume_labels or context.named(TREE_GROUP, "ElasticQuotaTree"):
        return
    resumed = tuple(label for traits in TRAITS.values() for label in traits.resume_labels)
    for workload in context.workloads:
        suspend = workload.shape.suspend
        if suspend is not None and workload.suspended() and not any(map(workload.values_of, resumed)):
            yield workload.pending(
                ".".join(suspend), "Invalid", "the workload is suspended, but no component on the cluster resumes it",
                "remove suspend, or label the workload for the engine that should resume it",
            )  # fmt: skip


def _names(context: WorkloadContext) -> Iterator[Verdict]:
    """Report names over KubeRay's limit, with which no pod is created (ray-operator utils/validation.go)."""
    for workload in context.workloads:
        name = name_of(workload.manifest)
        if workload.is_of("ray.io") and len(name) > workload.shape.max_name:
            yield workload.pending(
                "metadata.name", "TooLong",
                f"{workload.kind} name should be no more than {workload.shape.max_name} characters, but has "
                f"{len(name)}",
                f"use at most {workload.shape.max_name} characters",
            )  # fmt: skip


def _ray_scaling(context: WorkloadContext) -> Iterator[Verdict]:
    """Report scaling bounds without Ray's autoscaler, which alone changes a group's replicas."""
    for workload in context.workloads:
        for path in (("spec",), ("spec", "rayClusterSpec"), ("spec", "rayClusterConfig")):
            cluster = mapping(workload.manifest, *path)
            if not workload.is_of("ray.io") or cluster.get("enableInTreeAutoscaling") is True:
                continue
            for number, group in enumerate(items(cluster, "workerGroupSpecs")):
                replicas, most = integer(group, "replicas"), integer(group, "maxReplicas")
                if replicas is not None and most is not None and most > replicas:
                    yield workload.ignored(
                        f"{'.'.join(path)}.workerGroupSpecs[{number}].maxReplicas", "Invalid",
                        f"the group stays at replicas: {replicas}; without enableInTreeAutoscaling, nothing scales it "
                        f"to {most}",
                        f"set replicas: {most}, or enableInTreeAutoscaling: true",
                    )  # fmt: skip


def _ray_suspension(context: WorkloadContext) -> Iterator[Verdict]:
    """Report suspended RayJobs that keep their cluster, which KubeRay rejects (ray-operator utils/validation.go)."""
    for workload in context.workloads:
        stays = mapping(workload.manifest, "spec").get("shutdownAfterJobFinishes") is not True
        if workload.is_of("ray.io", "RayJob") and workload.suspended() and stays:
            yield workload.pending(
                "spec.shutdownAfterJobFinishes", "Invalid",
                "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended",
                "set shutdownAfterJobFinishes: true",
            )  # fmt: skip


def gang_shortfall(workload: Workload, pods: PodSet, needed: str, field: str) -> Iterator[Verdict]:
    """Yield a verdict if a gang requires more pods than its workload creates."""
    if needed.isdigit() and int(needed) > workload.n_pods:
        yield workload.pending(
            template_field(pods, "metadata", field), "Invalid",
            f"the gang waits for {counted(int(needed), 'pod')}, but the {workload.kind} creates {workload.n_pods}",
            f"require at most {counted(workload.n_pods, 'pod')}",
        )  # fmt: skip


RULES: tuple[Rule, ...] = (devices, _classes, _switches, _names, _ray_scaling, _ray_suspension)

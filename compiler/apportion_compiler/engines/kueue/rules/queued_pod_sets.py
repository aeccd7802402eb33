"""Workloads with several pod sets whose GPUs come from queued provisioning, which takes one pod set a request.

Pod sets that a ProvisioningRequestConfig merges are one to the provider, but Kueue tells the first of them alone which
nodes to use (kubernetes-sigs/kueue#14408); the pods of the others find none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import WorkloadContext, template_field
from apportion_compiler.engines.kueue import names
from apportion_compiler.engines.kueue.rules.potential_quota import cluster_queues, usable_flavors
from apportion_compiler.plain_objects import items, mapping, text
from apportion_compiler.workload_shapes import PodSet
from apportion_policy.provisioning import QUEUED_PROVISIONING_GKE


def several_pod_sets(context: WorkloadContext) -> Iterator[Verdict]:
    """Yield the workloads of which only one pod set gets nodes."""
    flavors = context.named(names.GROUP, "ResourceFlavor")
    for workload, cluster_queue in cluster_queues(context):
        sets = [pods for pods in workload.sets if pods.count and _asks_for_gpus(pods)]
        if len(sets) < 2:
            continue
        queued = _queued_flavors(context, cluster_queue)
        usable = [_gpu_flavors(pods, cluster_queue, flavors) for pods in sets]
        if not all(found and found <= queued.keys() for found in usable):
            continue
        merges = all(queued[flavor] for found in usable for flavor in found)
        field = template_field(sets[1], "spec")
        named = " and ".join(pods.name for pods in sets)
        if not merges or any(pods.spec != sets[0].spec for pods in sets):
            yield workload.pending(
                field, "NotSupported",
                f"{named} differ, and {QUEUED_PROVISIONING_GKE} gives nodes for one kind of pods",
                "give all pods with GPUs one template, or run the work on ordinary nodes",
            )  # fmt: skip
        else:
            yield workload.pending(
                field, "NotSupported",
                f"{named} are pod sets of one request, and Kueue tells only the first of them which nodes to use: "
                f"the pods of {' and '.join(pods.name for pods in sets[1:])} find none",
                "put all pods with GPUs into one pod set, such as a PyTorchJob with workers only",
            )  # fmt: skip


def _asks_for_gpus(pods: PodSet) -> bool:
    sections = ("requests", "limits")
    return any(
        names.GPU_RESOURCE in mapping(container, "resources", section)
        for container in items(pods.spec, "containers")
        for section in sections
    )


def _gpu_flavors(pods: PodSet, cluster_queue: Manifest, flavors: Mapping[str, Manifest]) -> set[str]:
    found: set[str] = set()
    for group in items(cluster_queue, "spec", "resourceGroups"):
        if names.GPU_RESOURCE in items(group, "coveredResources"):
            listed = [text(flavor, "name") or "" for flavor in items(group, "flavors")]
            found.update(usable_flavors(pods, listed, flavors))
    return found


def _queued_flavors(context: WorkloadContext, cluster_queue: Manifest) -> Mapping[str, bool]:
    """Return the flavors whose nodes come for whole requests, and whether their pod sets are merged."""
    checks = context.named(names.GROUP, "AdmissionCheck")
    configurations = context.named(names.GROUP, "ProvisioningRequestConfig")
    every = [
        text(flavor, "name") or ""
        for group in items(cluster_queue, "spec", "resourceGroups")
        for flavor in items(group, "flavors")
    ]
    found: dict[str, bool] = {}
    for name, on in _checks(cluster_queue):
        check = checks.get(name, {})
        if text(check, "spec", "controllerName") != names.PROVISIONING_CONTROLLER:
            continue
        configuration = configurations.get(text(check, "spec", "parameters", "name") or "", {})
        if text(configuration, "spec", "provisioningClassName") == QUEUED_PROVISIONING_GKE:
            found |= dict.fromkeys(on or every, text(configuration, "spec", "podSetMergePolicy") is not None)
    return found


def _checks(cluster_queue: Manifest) -> Iterator[tuple[str, list[str]]]:
    """Yield the admission checks of a ClusterQueue, and the flavors that each is for; none are all."""
    for name in items(cluster_queue, "spec", "admissionChecks"):
        yield str(name), []
    for entry in items(cluster_queue, "spec", "admissionChecksStrategy", "admissionChecks"):
        yield text(entry, "name") or "", [str(flavor) for flavor in items(entry, "onFlavors")]

"""Workloads with several pod sets whose GPUs come from queued provisioning, which supports one pod set per request.

Pod sets that a ProvisioningRequestConfig merges are a single one for the provider, but Kueue assigns the nodes only to
the first of them (kubernetes-sigs/kueue#14408); pods of the others find no nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_api.kueue.names import PROVISIONING_CONTROLLER
from apportion_api.kueue.objects import (
    AdmissionCheck,
    CheckRule,
    ClusterQueue,
    ProvisioningRequestConfig,
    ResourceFlavor,
)
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import WorkloadContext, template_field
from apportion_compiler.engines.kueue.rules.potential_quota import cluster_queues, usable_flavors
from apportion_compiler.plain_objects import items, mapping
from apportion_compiler.workload_shapes import PodSet
from apportion_policy.provisioning import QUEUED_PROVISIONING_GKE


def several_pod_sets(context: WorkloadContext) -> Iterator[Verdict]:
    """Yield the workloads of which only one pod set gets nodes."""
    flavors = {flavor.name: flavor for flavor in context.read(ResourceFlavor)}
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
                f"pod sets {named} differ, but {QUEUED_PROVISIONING_GKE} provisions nodes for only one pod template",
                "use the same template for all pods with GPUs, or run the workload on ordinary nodes",
            )  # fmt: skip
        else:
            yield workload.pending(
                field, "NotSupported",
                f"pod sets {named} share one request, but Kueue assigns nodes only to the first: pods in "
                f"{' and '.join(pods.name for pods in sets[1:])} get no nodes",
                "put all GPU pods in one pod set, for example with a PyTorchJob that has only workers",
            )  # fmt: skip


def _asks_for_gpus(pods: PodSet) -> bool:
    sections = ("requests", "limits")
    return any(
        GPU_RESOURCE in mapping(container, "resources", section)
        for container in items(pods.spec, "containers")
        for section in sections
    )


def _gpu_flavors(pods: PodSet, cluster_queue: ClusterQueue, flavors: Mapping[str, ResourceFlavor]) -> set[str]:
    groups = [group for group in cluster_queue.groups if GPU_RESOURCE in group.resources]
    return {flavor for group in groups for flavor in usable_flavors(pods, group, flavors)}


def _queued_flavors(context: WorkloadContext, cluster_queue: ClusterQueue) -> Mapping[str, bool]:
    """Return the flavors with nodes of queued provisioning, and whether their pod sets are merged."""
    checks = {check.name: check for check in context.read(AdmissionCheck)}
    configurations = {config.name: config for config in context.read(ProvisioningRequestConfig)}
    found: dict[str, bool] = {}
    for rule in (*map(CheckRule, cluster_queue.former_checks), *cluster_queue.checks):
        check = checks.get(rule.name)
        if check is None or check.controller != PROVISIONING_CONTROLLER:
            continue
        config = configurations.get(check.parameters or "")
        if config is not None and config.provisioning_class == QUEUED_PROVISIONING_GKE:
            found |= dict.fromkeys(rule.flavors or cluster_queue.flavors, config.merge_policy is not None)
    return found

"""Workloads whose annotations replace a parameter of queued provisioning that its configuration sets.

Kueue writes the annotation into the ProvisioningRequest, finds that the request differs from its configuration, deletes it and
creates it again, without end. Source: pkg/controller/admissionchecks/provisioning (provReqSyncedWithConfig) at v0.18.3.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kueue.names import PARAMETERS_PREFIX, PROVISIONING_CONTROLLER
from apportion_api.kueue.objects import AdmissionCheck, CheckRule, ClusterQueue, ProvisioningRequestConfig
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import WorkloadContext
from apportion_compiler.engines.kueue.rules.potential_quota import cluster_queues
from apportion_compiler.plain_objects import annotations_of, items, mapping
from apportion_compiler.workload_shapes import PodSet


def overridden_parameters(context: WorkloadContext) -> Iterator[Verdict]:
    """Yield the workloads whose requests Kueue deletes before they can be met."""
    checks = {check.name: check for check in context.read(AdmissionCheck)}
    configurations = {config.name: config for config in context.read(ProvisioningRequestConfig)}
    for workload, cluster_queue in cluster_queues(context):
        annotations = annotations_of(workload.manifest)
        for config in _configurations(cluster_queue, checks, configurations):
            if not any(_requests(pods, config) for pods in workload.sets):
                continue
            for name, value in config.parameters.items():
                annotated = annotations.get(PARAMETERS_PREFIX + name)
                if annotated is not None and annotated != value:
                    yield workload.pending(
                        f"metadata.annotations[{PARAMETERS_PREFIX}{name}]", "NotSupported",
                        f"{name} is {annotated}, but ProvisioningRequestConfig {config.name} sets {value}: Kueue deletes "
                        "and recreates the ProvisioningRequest repeatedly",
                        "remove the annotation, or remove the parameter from the configuration (`max_run_duration` in the plan)",
                    )  # fmt: skip


def _configurations(
    cluster_queue: ClusterQueue,
    checks: dict[str, AdmissionCheck],
    configurations: dict[str, ProvisioningRequestConfig],
) -> Iterator[ProvisioningRequestConfig]:
    for rule in (*map(CheckRule, cluster_queue.former_checks), *cluster_queue.checks):
        check = checks.get(rule.name)
        if check is not None and check.controller == PROVISIONING_CONTROLLER:
            config = configurations.get(check.parameters or "")
            if config is not None:
                yield config


def _requests(pods: PodSet, config: ProvisioningRequestConfig) -> bool:
    """Return whether pods request a resource for which the configuration requires a request."""
    requested = {
        str(resource)
        for container in items(pods.spec, "containers")
        for section in ("requests", "limits")
        for resource in mapping(container, "resources", section)
    }
    return bool(pods.count) and (not config.managed_resources or not requested.isdisjoint(config.managed_resources))

"""Koordinator: quotas that do not exist or have children, gangs with too few pods, pods that bypass the scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from apportion_api.koordinator import names
from apportion_api.koordinator.names import GANG_MIN_ANNOTATION
from apportion_api.koordinator.objects import ElasticQuota
from apportion_api.objects import read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.common_faults import gang_shortfall
from apportion_compiler.engine_rules.workload_rules.workload_context import (
    Rule,
    WorkloadContext,
    listed,
    template_field,
)
from apportion_compiler.plain_objects import annotations_of, labels_of, text


def _quotas(context: WorkloadContext) -> Iterator[Verdict]:
    quotas = context.named(names.GROUP, "ElasticQuota")
    inner = {name for name, quota in quotas.items() if read(ElasticQuota, quota).is_parent}
    for workload in context.workloads:
        # Only the label on pods is read.
        on_top = names.QUEUE_LABEL in labels_of(workload.manifest)
        if on_top and any(names.QUEUE_LABEL not in labels_of(cast("Manifest", p.template)) for p in workload.sets):
            yield workload.ignored(
                f"metadata.labels[{names.QUEUE_LABEL}]", "Invalid",
                "Koordinator reads this label only from pods, but the pod templates do not have it",
                "add the label to the pod templates",
            )  # fmt: skip
        for pods in workload.sets:
            quota = labels_of(cast("Manifest", pods.template)).get(names.QUEUE_LABEL)
            field = template_field(pods, "metadata", f"labels[{names.QUEUE_LABEL}]")
            if quota in inner:
                message = f"quota {quota} is a parent quota, and pods cannot use parent quotas"
                yield workload.pods_rejected(field, "Invalid", message, f"use one of {listed(quotas.keys() - inner)}")
            elif quota is not None and quotas and quota not in quotas:
                yield workload.ignored(
                    field, "NotFound", f"quota {quota} does not exist, so the pods count against {names.DEFAULT_QUOTA}",
                    f"use one of {listed(quotas.keys() - inner)}",
                )  # fmt: skip


def _schedulers(context: WorkloadContext) -> Iterator[Verdict]:
    for workload in context.workloads:
        for pods in workload.sets:
            names_quota = names.QUEUE_LABEL in labels_of(cast("Manifest", pods.template))
            if names_quota and text(pods.spec, "schedulerName") in {None, "default-scheduler"}:
                yield workload.ignored(
                    template_field(pods, "spec", "schedulerName"), "Required",
                    "without schedulerName, the default scheduler schedules the pods and ignores the quota",
                    f"set schedulerName: {names.SCHEDULER}",
                )  # fmt: skip


def _gangs(context: WorkloadContext) -> Iterator[Verdict]:
    for workload in context.workloads:
        # Bare pods of a gang are related only by the gang's name.
        for pods in () if workload.is_bare else workload.sets:
            needed = annotations_of(cast("Manifest", pods.template)).get(GANG_MIN_ANNOTATION)
            if needed is not None:
                yield from gang_shortfall(workload, pods, needed, f"annotations[{GANG_MIN_ANNOTATION}]")


RULES: tuple[Rule, ...] = (_quotas, _schedulers, _gangs)

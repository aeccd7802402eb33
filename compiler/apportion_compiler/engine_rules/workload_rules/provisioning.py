"""Requests for queued nodes and the workloads for them, on any engine.

Source: kubernetes/autoscaler cluster-autoscaler/apis/config/crd and apis/provisioningrequest at 55c37cd5eb; Google's
page on Dynamic Workload Scheduler for what its class does not support: several templates, pods without GPUs,
anti-affinity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import Rule, WorkloadContext, template_field
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.engines.traits import Kind
from apportion_compiler.plain_objects import annotations_of, items, mapping, of_kind, text
from apportion_policy.provisioning import (
    MAX_RUN_DURATION_PARAMETER,
    MAX_RUN_SECONDS,
    QUEUED_PROVISIONING_GKE,
    parse_run_seconds,
)

GROUP = "autoscaling.x-k8s.io"
_CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"
_CLASS = "autoscaling.x-k8s.io/provisioning-class-name"
_FORMER_CLASS = "cluster-autoscaler.kubernetes.io/provisioning-class-name"
_FORMER = {"cluster-autoscaler.kubernetes.io/consume-provisioning-request": _CONSUME, _FORMER_CLASS: _CLASS}
_GPU = GPU_RESOURCE


def _requests(context: WorkloadContext) -> Iterator[Verdict]:
    templates = context.placed("", "PodTemplate")
    known = templates or _misnamed(context)
    for index, manifest in enumerate(context.manifests):
        if not of_kind((manifest,), GROUP, "ProvisioningRequest"):
            continue
        if str(manifest.get("apiVersion")).endswith("/v1beta1"):
            yield Verdict(
                Effect.DEPRECATED, index, "apiVersion", "Deprecated",
                f"{GROUP}/v1beta1 is still served, but v1 is the storage version", f"use {GROUP}/v1",
            )  # fmt: skip
        if text(manifest, "spec", "provisioningClassName") != QUEUED_PROVISIONING_GKE:
            continue
        sets = items(manifest, "spec", "podSets")
        if len(sets) > 1:
            yield _pending(
                index, "spec.podSets", "TooMany", f"{QUEUED_PROVISIONING_GKE} supports only one pod set, but the request has {len(sets)}",
                "use a single pod set with the requests of the largest pod, and set its count to the total number of pods",
            )  # fmt: skip
        yield from _run_duration(index, manifest)
        namespace = text(manifest, "metadata", "namespace") or "default"
        for number, pod_set in enumerate(sets):
            name = text(pod_set, "podTemplateRef", "name") or ""
            template = templates.get((namespace, name))
            field = f"spec.podSets[{number}].podTemplateRef.name"
            if template is None and known:
                yield _pending(
                    index, field, "NotFound", f"PodTemplate {name} does not exist in namespace {namespace}",
                    "apply the PodTemplate first, in the same namespace",
                )  # fmt: skip
            elif template is not None:
                spec = mapping(template, "template", "spec")
                yield from _unprovidable(index, field, spec)
                if not _asks_for_gpus(spec):
                    yield _without_gpus(index, field)


def _misnamed(context: WorkloadContext) -> bool:
    return any(manifest.get("kind") == "PodTemplate" for manifest in context.manifests)


def _run_duration(index: int, manifest: Manifest) -> Iterator[Verdict]:
    written = mapping(manifest, "spec", "parameters").get(MAX_RUN_DURATION_PARAMETER)
    if written is None:
        return
    field = f"spec.parameters.{MAX_RUN_DURATION_PARAMETER}"
    if not isinstance(written, str):
        yield Verdict(
            Effect.REJECTED, index, field, "Invalid", f"must be of type string, not {written}", f'use "{written}"'
        )
    elif not _is_run_duration(written):
        yield _too_long(index, field, written)


def _is_run_duration(written: str) -> bool:
    seconds = parse_run_seconds(written)
    return seconds is not None and 0 < seconds <= MAX_RUN_SECONDS


def _too_long(index: int, field: str, written: str) -> Verdict:
    return _pending(
        index, field, "Invalid", f"{written[:40]} is not a number of seconds between 1 and {MAX_RUN_SECONDS} (seven days)",
        f'use at most "{MAX_RUN_SECONDS}"',
    )  # fmt: skip


def _configurations(context: WorkloadContext) -> Iterator[Verdict]:
    """Check the parameters of a configuration, overridden by a job's annotations, as in the engine's requests."""
    for traits in TRAITS.values():
        for kind, annotation in traits.request_configurations.items():
            yield from _configured_durations(context, kind, annotation)


def _configured_durations(context: WorkloadContext, kind: Kind, annotation: str) -> Iterator[Verdict]:
    is_queued = False
    for index, manifest in enumerate(context.manifests):
        if not of_kind((manifest,), *kind):
            continue
        if text(manifest, "spec", "provisioningClassName") == QUEUED_PROVISIONING_GKE:
            is_queued = True
            yield from _run_duration(index, manifest)
    for workload in context.workloads if is_queued else ():
        written = annotations_of(workload.manifest).get(annotation)
        if isinstance(written, str) and not _is_run_duration(written):
            yield _too_long(workload.index, f"metadata.annotations[{annotation}]", written)


def _pod_templates(context: WorkloadContext) -> Iterator[Verdict]:
    for index, manifest in enumerate(context.manifests):
        version = manifest.get("apiVersion")
        if manifest.get("kind") == "PodTemplate" and version != "v1" and "/" not in str(version):
            yield Verdict(
                Effect.REJECTED, index, "apiVersion", "NotFound",
                f'no matches for kind "PodTemplate" in version "{version}"', "use v1",
            )  # fmt: skip


def _consumers(context: WorkloadContext) -> Iterator[Verdict]:
    for workload in context.workloads:
        is_queued = False
        for pods in workload.sets:
            annotations = annotations_of(cast("Manifest", pods.template))
            for former, key in _FORMER.items():
                if former in annotations and key not in annotations:
                    yield workload.verdict(
                        Effect.DEPRECATED, template_field(pods, "metadata", f"annotations[{former}]"), "Deprecated",
                        f"the autoscaler still reads {former}, but Kueue no longer writes it",
                        f"use {key}",
                    )  # fmt: skip
            class_ = annotations.get(_CLASS) or annotations.get(_FORMER_CLASS)
            if class_ == QUEUED_PROVISIONING_GKE:
                is_queued = True
                yield from _unprovidable(workload.index, template_field(pods, "spec", "affinity"), pods.spec)
        # Some kinds of pods may have no GPU: the single template of the request is that of the largest.
        if is_queued and not any(_asks_for_gpus(pods.spec) for pods in workload.sets):
            yield _without_gpus(workload.index, template_field(workload.sets[0], "spec"))


ANTI_AFFINITY_IGNORED = (
    "queued provisioning ignores podAntiAffinity when it counts nodes: the pods may not fit on the provisioned nodes"
)


def _unprovidable(index: int, field: str, spec: Mapping[str, object]) -> Iterator[Verdict]:
    if mapping(spec, "affinity", "podAntiAffinity"):
        yield Verdict(Effect.IGNORED, index, field, "NotSupported", ANTI_AFFINITY_IGNORED, "remove podAntiAffinity")


def _asks_for_gpus(spec: Mapping[str, object]) -> bool:
    sections = ("requests", "limits")
    return any(_GPU in mapping(c, "resources", section) for c in items(spec, "containers") for section in sections)


def _without_gpus(index: int, field: str) -> Verdict:
    return _pending(
        index, field, "NotSupported", "queued provisioning provides only GPU nodes, but the pods request no GPUs",
        f"request {_GPU}, or run the workload on ordinary nodes",
    )  # fmt: skip


def _pending(index: int, field: str, kind: str, message: str, cure: str) -> Verdict:
    return Verdict(Effect.PENDING, index, field, kind, message, cure)


RULES: tuple[Rule, ...] = (_pod_templates, _requests, _configurations, _consumers)

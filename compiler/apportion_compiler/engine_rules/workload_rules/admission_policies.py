"""Workloads that the admission policies of a compiled cluster reject, evaluated from its namespaces' annotations.

If the bindings only warn or audit, workloads are admitted, and the verdicts say so.

The annotations list the queues and classes that workloads of a namespace may use; the policies themselves are CEL,
which only an API server evaluates (`backends/admission/rules.py`). Messages are those of the policies.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import cast

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_compiler.backends.admission.namespace_metadata import (
    CLASSES_ANNOTATION,
    QUEUE_LABEL,
    QUEUES_ANNOTATION,
    SHARING_ANNOTATION,
)
from apportion_compiler.backends.admission.workloads import WORKLOADS
from apportion_compiler.backends.metadata import GROUP
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import (
    Rule,
    Workload,
    WorkloadContext,
    template_field,
)
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.plain_objects import annotations_of, items, labels_of, text

_POLICIES = frozenset(f"{workload.name}.{GROUP}" for workload in WORKLOADS)


def _admission(context: WorkloadContext) -> Iterator[Verdict]:
    consequence = _consequence(context)
    for verdict in _namespaces(context):
        if consequence is None:
            yield verdict
        else:
            yield replace(verdict, effect=Effect.WARNED, message=f"{verdict.message}; {consequence}")


def _consequence(context: WorkloadContext) -> str | None:
    """Return the effect of admission policies that do not deny; None if they deny, or are not among the objects."""
    bindings = context.named("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding")
    actions = {
        str(action)
        for name, made in bindings.items()
        if name in _POLICIES
        for action in items(made, "spec", "validationActions")
    }
    if not actions or "Deny" in actions:
        return None
    return f"the admission policies admit the workload {'with a warning' if 'Warn' in actions else 'and audit it'}"


def _namespaces(context: WorkloadContext) -> Iterator[Verdict]:
    ours = {name: made for name, made in context.named("", "Namespace").items() if QUEUE_LABEL in labels_of(made)}
    if not ours:
        return
    known = {queue for made in ours.values() for queue in _listed(annotations_of(made), QUEUES_ANNOTATION)}
    for workload in context.workloads:
        namespace = ours.get(workload.namespace)
        if namespace is None:
            yield from _outside(context, workload)
        else:
            annotations = annotations_of(namespace)
            yield from _queues(context, workload, _listed(annotations, QUEUES_ANNOTATION), known)
            yield from _classes(context, workload, _listed(annotations, CLASSES_ANNOTATION))
            yield from _placement(context, workload, may_share=annotations.get(SHARING_ANNOTATION) == "true")


def _outside(context: WorkloadContext, workload: Workload) -> Iterator[Verdict]:
    open_queues = {queue for traits in TRAITS.values() for queue in traits.open_queues}
    for field, queue in _named_queues(context.engine, workload):
        if queue not in open_queues:
            yield workload.rejected(
                field, "Forbidden",
                f"namespace {workload.namespace} does not belong to any queue in the policy, so its workloads must not reference {queue}",
                "create the workload in one of the queue's namespaces",
            )  # fmt: skip


def _queues(
    context: WorkloadContext, workload: Workload, allowed: list[str], known: Collection[str]
) -> Iterator[Verdict]:
    named = list(_named_queues(context.engine, workload))
    for field, queue in named:
        if queue not in allowed:
            yield workload.rejected(
                field, "Forbidden",
                f"it references {queue}; workloads in namespace {workload.namespace} must use {' or '.join(allowed)}",
                f"use {' or '.join(allowed)}" + (f", or create the workload in a namespace of {queue}" if queue in known else ""),
            )  # fmt: skip
    traits = TRAITS[context.engine]
    if (
        traits.requires_queue
        and not named
        and traits.default_queue_name not in allowed
        and not any(map(workload.is_of, traits.pod_labelled_groups))
    ):
        key = traits.queue_labels[0]
        yield workload.rejected(
            f"metadata.labels[{key}]", "Forbidden", f"label {key} is missing; set it to {' or '.join(allowed)}",
            f"label it {key}: {allowed[0]}" if allowed else "use a namespace that belongs to a queue",
        )  # fmt: skip


def _classes(context: WorkloadContext, workload: Workload, allowed: list[str]) -> Iterator[Verdict]:
    known = set(context.named(SCHEDULING_GROUP, "PriorityClass"))
    named: dict[str, str] = {}
    for key in TRAITS[context.engine].class_labels:
        named |= dict.fromkeys(workload.values_of(key), f"metadata.labels[{key}]")
    for pods in workload.sets:
        cls = text(pods.spec, "priorityClassName")
        # A class that does not exist is a separate fault.
        if cls is not None and (not known or cls in known or cls in named):
            named[cls] = template_field(pods, "spec", "priorityClassName")
    for cls, field in named.items():
        if allowed and cls not in allowed:
            yield workload.rejected(
                field, "Forbidden",
                f"priority class {cls} is not allowed in namespace {workload.namespace}; allowed: {', '.join(allowed)}",
                f"use one of {', '.join(allowed)}",
            )  # fmt: skip


def _placement(context: WorkloadContext, workload: Workload, *, may_share: bool) -> Iterator[Verdict]:
    for pods in workload.sets:
        if text(pods.spec, "nodeName") is not None:
            yield workload.rejected(
                template_field(pods, "spec", "nodeName"), "Forbidden", "nodeName bypasses the scheduler",
                "use nodeSelector or affinity",
            )  # fmt: skip
        annotations = annotations_of(cast("Manifest", pods.template))
        asked = [key for key in TRAITS[context.engine].sharing_annotations if key in annotations]
        if asked and not may_share:
            yield workload.rejected(
                template_field(pods, "metadata", f"annotations[{asked[0]}]"), "Forbidden",
                f"workloads in namespace {workload.namespace} must not request a fraction of a GPU",
                "request whole GPUs, or set `gpu_sharing` in the policy",
            )  # fmt: skip


def _named_queues(engine: str, workload: Workload) -> Iterator[tuple[str, str]]:
    """Yield each queue that the workload or its pods name, once, with the field."""
    found: dict[str, str] = {}
    for key in TRAITS[engine].queue_labels:
        for queue in sorted(workload.values_of(key)):
            found.setdefault(queue, f"metadata.labels[{key}]")
    for key in TRAITS[engine].queue_annotations:
        for queue in sorted(workload.values_of(key, annotation=True)):
            found.setdefault(queue, f"metadata.annotations[{key}]")
    for group, path in (each for traits in TRAITS.values() for each in traits.queue_fields.items()):
        named = text(workload.manifest, *path.split(".")) if workload.is_of(group) else None
        if named is not None:
            found.setdefault(named, path)
    yield from ((field, queue) for queue, field in found.items())


def _listed(annotations: Mapping[str, str], key: str) -> list[str]:
    return [name for name in annotations.get(key, "").split(",") if name]


RULES: tuple[Rule, ...] = (_admission,)

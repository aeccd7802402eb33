"""YuniKorn: queues that are not in the configuration, and task groups with too few pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from apportion_api.counted_nouns import counted
from apportion_api.embedded_json import json_value
from apportion_api.yunikorn import names
from apportion_compiler.embedded_text import yaml_value
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import (
    Rule,
    Workload,
    WorkloadContext,
    listed,
    template_field,
)
from apportion_compiler.plain_objects import annotations_of, items, labels_of, mapping, text

_KEYS = (names.QUEUE_LABEL, names.OLD_QUEUE_LABEL)


def _queues(context: WorkloadContext) -> Iterator[Verdict]:
    config = context.named("", "ConfigMap").get(names.CONFIG_MAP)
    tree = _tree(text(config, "data", names.QUEUES_KEY) or "")
    # Without placement rules, the queue must exist; with them, a rule may create it.
    if not tree or _has_rules(config):
        return
    for workload in context.workloads:
        for pods in workload.sets:
            keys = {**annotations_of(cast("Manifest", pods.template)), **labels_of(cast("Manifest", pods.template))}
            path = next((keys[key] for key in _KEYS if key in keys), None)
            if path is None:
                continue
            full = (
                path.lower()
                if path.lower().startswith(f"{names.ROOT_QUEUE}.")
                else f"{names.ROOT_QUEUE}.{path.lower()}"
            )
            field = template_field(pods, "metadata", f"labels[{names.QUEUE_LABEL}]")
            leaves = [name for name, is_leaf in tree.items() if is_leaf]
            if full not in tree:
                message = f"application rejected: queue {path} does not exist"
                yield workload.pending(field, "NotFound", message, f"use one of {listed(leaves)}")
            elif not tree[full]:
                message = f"application rejected: queue {path} is not a leaf"
                yield workload.pending(field, "Invalid", message, f"use one of {listed(leaves)}")


def _tree(document: str) -> Mapping[str, bool]:
    """Return whether each queue is a leaf, by its lower-case path; empty if the text is invalid."""
    found: dict[str, bool] = {}
    for partition in items(_loaded(document), "partitions"):
        pending = [(names.ROOT_QUEUE, queue) for queue in items(partition, "queues")]
        pending = [(text(queue, "name") or names.ROOT_QUEUE, queue) for _, queue in pending]
        if not any(name.lower() == names.ROOT_QUEUE for name, _ in pending):
            pending = [(f"{names.ROOT_QUEUE}.{name}", queue) for name, queue in pending]
        while pending:
            path, queue = pending.pop()
            below = items(queue, "queues")
            found[path.lower()] = not below and mapping(queue).get("parent") is not True
            pending += [(f"{path}.{text(child, 'name')}", child) for child in below]
    return found


def _has_rules(config: Manifest | None) -> bool:
    document = _loaded(text(config, "data", names.QUEUES_KEY) or "")
    return any(items(partition, "placementrules") for partition in items(document, "partitions"))


def _loaded(document: str) -> object:
    try:
        return yaml_value(document)
    except ValueError:
        # The rules on the configuration report it.
        return None


def _task_groups(context: WorkloadContext) -> Iterator[Verdict]:
    for workload in context.workloads:
        counts: dict[str, int] = {}
        for pods in workload.sets:
            name = annotations_of(cast("Manifest", pods.template)).get(names.TASK_GROUP_NAME_ANNOTATION)
            if name is not None:
                counts[name] = counts.get(name, 0) + pods.count
        if counts and not workload.is_bare:
            yield from _groups_of(workload, counts)


def _groups_of(workload: Workload, counts: Mapping[str, int]) -> Iterator[Verdict]:
    pods = workload.sets[0]
    written = annotations_of(cast("Manifest", pods.template)).get(names.TASK_GROUPS_ANNOTATION, "")
    field = template_field(pods, "metadata", f"annotations[{names.TASK_GROUPS_ANNOTATION}]")
    try:
        groups = json_value(written or "[]")
    except ValueError:
        yield workload.ignored(
            field, "Invalid", "the annotation is not valid JSON, so the pods are not gang-scheduled", "use a JSON list"
        )
        return
    for group in groups if isinstance(groups, list) else ():
        name, least = text(group, "name"), mapping(group).get("minMember")
        if name is not None and isinstance(least, int) and least > counts.get(name, 0):
            yield workload.pending(
                field, "Invalid", f"task group {name} waits for {counted(least, 'pod')}, but has only {counts.get(name, 0)}",
                f"set minMember: {counts.get(name, 0)}",
            )  # fmt: skip


RULES: tuple[Rule, ...] = (_queues, _task_groups)

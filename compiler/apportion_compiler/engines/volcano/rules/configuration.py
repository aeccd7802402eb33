"""The scheduler's configuration, and fields of queues that have no effect with it.

It is never rejected: Volcano ignores invalid and unknown settings, with a line in its log. Verdicts on queues require
that the configuration is among the objects.

Source: pkg/scheduler/{util.go,conf,framework,plugins/capacity,plugins/proportion,plugins/nodegroup} at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.fields import Fields
from apportion_api.objects import is_a, read, read_fields
from apportion_api.volcano.configuration import SCHEDULER_KEY, SchedulerConfiguration
from apportion_api.volcano.names import HIERARCHY_ANNOTATION
from apportion_api.volcano.objects import Queue
from apportion_compiler.embedded_text import yaml_value
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.volcano.rules.queue_tree import QueueTree, is_below_queue
from apportion_compiler.engines.volcano.rules.queues import ignored
from apportion_compiler.plain_objects import labels_of, text

_ACTIONS = frozenset({"enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle", "gangpreempt", "gangreclaim"})
_PLUGINS = frozenset(
    {
        "drf", "gang", "deviceshare", "predicates", "priority", "nodeorder", "conformance", "binpack",
        "resource-strategy-fit", "tdm", "overcommit", "sla", "task-topology", "numa-aware", "cdp", "rescheduling",
        "usage", "pdb", "nodegroup", "network-topology-aware", "proportion", "capacity", "extender", "resourcequota",
    }
)  # fmt: skip
_VICTIM_PLUGINS = ("conformance", "gang")
"""Plugins that select victims of a reclaim, and so decide it for their tier."""
_AT = f"data[{SCHEDULER_KEY}]"


def configuration_verdicts(
    manifests: Sequence[Manifest], existing: Sequence[Manifest], tree: QueueTree
) -> Iterator[Verdict]:
    """Yield verdicts on the ConfigMap and, depending on it, on queues."""
    found: SchedulerConfiguration | None = None
    for index, manifest in enumerate(manifests):
        content = _content(manifest)
        if content is not None:
            found = _parse(content)
            if found is None:
                yield ignored(
                    index,
                    _AT,
                    "the configuration is not valid, so the scheduler keeps the current one",
                    "fix the YAML",
                )
            else:
                yield from _by_itself(index, found, tree)
    if found is None:
        contents = [content for content in map(_content, existing) if content is not None]
        found = _parse(contents[-1]) if contents else None
    if found is not None:
        for index, manifest in enumerate(manifests):
            if is_a(Queue, manifest):
                yield from _of_queue(index, manifest, found)


def _content(manifest: Manifest) -> str | None:
    return text(manifest, "data", SCHEDULER_KEY) if manifest.get("kind") == "ConfigMap" else None


def _parse(content: str) -> SchedulerConfiguration | None:
    try:
        document = yaml_value(content)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    return read_fields(SchedulerConfiguration, Fields(document))


def _by_itself(index: int, found: SchedulerConfiguration, tree: QueueTree) -> Iterator[Verdict]:
    for action in found.actions:
        if action not in _ACTIONS:
            yield ignored(index, _AT, f"unknown action {action}", f"remove {action} from `actions`")
    for tier in found.tiers:
        for plugin in tier.plugins:
            name = plugin.name
            if name not in _PLUGINS:
                yield ignored(
                    index, _AT, f"plugin {name} is not built in", f"remove plugin {name}, or load it from a file"
                )
    capacity, proportion = found.plugin("capacity"), found.plugin("proportion")
    if capacity is not None and proportion is not None:
        yield ignored(
            index, _AT, "capacity and proportion conflict: both manage queue resources", "remove capacity or proportion"
        )
    if capacity is None:
        return
    hangs = any(is_below_queue(queue) for queue in tree.queues.values())
    if hangs and not capacity.does("Hierarchy"):
        yield ignored(
            index,
            _AT,
            "without enableHierarchy, the capacity plugin does not support parent queues",
            "set enableHierarchy: true",
        )
    if "reclaim" not in found.actions and "gangreclaim" not in found.actions:
        yield ignored(
            index, _AT, "without the reclaim action, lent capacity is never reclaimed", "add reclaim to `actions`"
        )
        return
    for tier in found.tiers:
        if any(plugin.name == "capacity" for plugin in tier.plugins):
            return
        for plugin in tier.plugins:
            name = plugin.name
            if name in _VICTIM_PLUGINS and plugin.does("Reclaimable"):
                yield ignored(
                    index,
                    _AT,
                    f"{name} is in an earlier tier than capacity and selects the reclaim victims, so deserved amounts are ignored",
                    "move capacity to the same tier",
                )
                return


def _of_queue(index: int, manifest: Manifest, found: SchedulerConfiguration) -> Iterator[Verdict]:
    capacity, proportion = found.plugin("capacity"), found.plugin("proportion")
    queue = read(Queue, manifest)
    if capacity is None and proportion is not None:
        if queue.deserved:
            yield ignored(
                index, "spec.deserved", "the proportion plugin derives deserved amounts from weights",
                "use the capacity plugin",
            )  # fmt: skip
        if is_below_queue(queue):
            yield ignored(
                index, "spec.parent", "the proportion plugin does not support parent queues", "use the capacity plugin"
            )
    elif capacity is not None and proportion is None:
        # The fidelity report covers settings that Apportion itself writes.
        if queue.weight not in (None, 1) and labels_of(manifest).get("app.kubernetes.io/managed-by") != "apportion":
            yield ignored(index, "spec.weight", "the capacity plugin ignores weights", "set `deserved` instead")
        if HIERARCHY_ANNOTATION in queue.annotations:
            yield ignored(
                index,
                f"metadata.annotations[{HIERARCHY_ANNOTATION}]",
                "the capacity plugin reads the queue tree only from spec.parent",
                "set spec.parent",
            )
    if queue.affinity and found.plugin("nodegroup") is None:
        yield ignored(
            index,
            "spec.affinity",
            f"without the nodegroup plugin, workloads in queue {queue.name} run on any node",
            "add nodegroup to the scheduler's plugins",
        )

"""AP122: an override counts a resource differently from the value that it changes, so the two cannot be merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_compiler.graph.override_merge import AMOUNT_FIELDS, is_combinable
from apportion_policy.cluster import QueueOverride
from apportion_policy.identifiers import identity_of
from apportion_policy.queue import Override, Queue
from apportion_policy.resources import Resources

OVERRIDE_COUNTS_DIFFERENTLY = Rule(
    "AP122",
    "override-counts-differently",
    Severity.ERROR,
    "an override counts GPUs or nodes differently from the value that it overrides",
)


def override_counts_differently(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Compare each override with the queue, and each timed one with the overrides of its environments."""
    by_queue: dict[str, list[tuple[str, QueueOverride]]] = {}
    for environment in graph.policy.environments:
        for change in environment.overrides:
            by_queue.setdefault(identity_of(change.queue), []).append((environment.name, change))
    for node in graph.nodes.values():
        stages = by_queue.get(node.id, [])
        for _, change in stages:
            yield from _against(node.queue, change, node.queue)
        for timed in node.queue.overrides:
            if timed.end < graph.as_of:
                continue
            yield from _against(node.queue, timed, node.queue)
            named = None if timed.environments is None else {identity_of(e) for e in timed.environments}
            for stage, change in stages:
                if named is None or stage in named:
                    yield from _against(node.queue, timed, change)


def _against(queue: Queue, override: Override | QueueOverride, before: Queue | QueueOverride) -> Iterator[Diagnostic]:
    for field in AMOUNT_FIELDS:
        held: Resources | None = getattr(before, field)
        changed: Resources | None = getattr(override, field)
        if held is None or changed is None or field in override.replace or is_combinable(held, changed):
            continue
        yield Diagnostic(
            OVERRIDE_COUNTS_DIFFERENTLY,
            f"queue {queue.id}",
            f"an override of `{queue.id}` sets `{field}` {_way(changed)}, but the value that it overrides is set "
            f"{_way(held)}",
            override.source,
            (Related(before.source, f"`{field}` is set {_way(held)} here"),),
            f'set both the same way, or add `replace=("{field}",)` and set every amount that applies',
        )


def _way(resources: Resources) -> str:
    if resources.machines is not None:
        return "in machines"
    if isinstance(resources.gpu, Mapping):
        return f"per GPU model ({', '.join(sorted(resources.gpu))})"
    return "as a total number of GPUs" if resources.gpu is not None else "per resource"

"""Rules on the queue tree: parents exist in the same shard, and children fit into them.

KAI drops a queue whose parent it does not find, with its descendants, and reports it only in its log
(cleanQueueOrphans, pkg/scheduler/cache/cluster_info/queue.go). A sum of quotas above the parent's is accepted, but KAI
cannot provide these quotas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_api.counted_nouns import counted
from apportion_api.kai.names import CHART_QUEUES, NODE_POOL_LABEL
from apportion_api.kai.objects import Queue, SchedulingShard
from apportion_api.objects import is_a, read, read_all
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts
from apportion_compiler.engines.kai.rules.queues import ACCOUNTED, UNITS, UNLIMITED, number_text


@dataclass(frozen=True, slots=True)
class _QueueEntry:
    """A queue and its manifest's index; None if it is an existing object."""

    index: int | None
    queue: Queue

    @property
    def parent(self) -> str | None:
        return self.queue.parent

    @property
    def partition(self) -> str:
        return self.queue.partition


def tree_verdicts(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on the tree of the manifests and the existing objects."""
    entries = [_QueueEntry(None, queue) for queue in read_all(Queue, existing)]
    entries += [_QueueEntry(index, read(Queue, m)) for index, m in enumerate(manifests) if is_a(Queue, m)]
    queues = {entry.queue.name: entry for entry in entries}
    if not queues:
        return
    partitions = {shard.partition for shard in read_all(SchedulingShard, (*manifests, *existing))}
    children: dict[str, list[_QueueEntry]] = {}
    for held in queues.values():
        if held.parent is not None:
            children.setdefault(held.parent, []).append(held)
    for name, held in queues.items():
        if held.index is not None:
            yield from _place(name, held, queues, children)
            yield from _shard(FieldVerdicts(held.index), held, partitions)
        yield from _bounds(name, held, children.get(name, ()))


def _place(
    name: str, held: _QueueEntry, queues: Mapping[str, _QueueEntry], children: Mapping[str, Sequence[_QueueEntry]]
) -> Iterator[Verdict]:
    assert held.index is not None
    about, parent = FieldVerdicts(held.index), held.parent
    if parent is None or (parent in CHART_QUEUES and parent not in queues):
        return
    lost = _lost(name, children)
    if parent not in queues:
        yield about.ignored(
            "spec.parentQueue", "NotFound", f"queue `{parent}` does not exist, so KAI drops {lost}",
            "declare the parent, or also pass the file that declares it",
        )  # fmt: skip
    elif _is_in_cycle(name, queues):
        yield about.ignored(
            "spec.parentQueue",
            "Invalid",
            f"`{name}` is its own ancestor, so KAI drops {lost}",
            "set a different parent",
        )
    elif queues[parent].partition != held.partition:
        theirs = queues[parent].partition
        yield about.ignored(
            f"metadata.labels[{NODE_POOL_LABEL}]", "Invalid",
            f"parent `{parent}` belongs to {_named(theirs)}, but the queue belongs to "
            f"{_named(held.partition)}, so KAI drops {lost}",
            f"set the same {NODE_POOL_LABEL} label on both queues",
        )  # fmt: skip


def _lost(name: str, children: Mapping[str, Sequence[_QueueEntry]]) -> str:
    below: set[str] = set()
    stack = [name]
    while stack:
        for child in children.get(stack.pop(), ()):
            if child.queue.name not in below:
                below.add(child.queue.name)
                stack.append(child.queue.name)
    below.discard(name)
    return "the queue" if not below else f"the queue and its {counted(len(below), 'descendant')}"


def _is_in_cycle(name: str, queues: Mapping[str, _QueueEntry]) -> bool:
    seen: set[str] = set()
    above: str | None = queues[name].parent
    while above is not None and above in queues and above not in seen:
        if above == name:
            return True
        seen.add(above)
        above = queues[above].parent
    return False


def _shard(about: FieldVerdicts, held: _QueueEntry, partitions: set[str]) -> Iterator[Verdict]:
    if partitions and held.partition not in partitions and held.partition:
        yield about.ignored(
            f"metadata.labels[{NODE_POOL_LABEL}]", "NotFound",
            f"no SchedulingShard has partition `{held.partition}`, so no scheduler uses the queue",
            "declare the shard, or remove the label",
        )  # fmt: skip


def _named(partition: str) -> str:
    return f"shard {partition}" if partition else "the default shard"


def _bounds(name: str, held: _QueueEntry, children: Sequence[_QueueEntry]) -> Iterator[Verdict]:
    """Compare the amounts of a queue with those of its children in the same shard."""
    alike = [child for child in children if child.partition == held.partition]
    for resource in ACCOUNTED if alike else ():
        path = f"spec.resources.{resource}"
        quota, limit = (held.queue.counted(resource, field) for field in ("quota", "limit"))
        quotas = [child.queue.counted(resource, "quota") for child in alike]
        if held.index is not None and quota is not None and _exceeds(quotas, quota):
            total = (
                "an unlimited amount"
                if UNLIMITED in quotas
                else f"{number_text(sum(p or 0 for p in quotas))} {UNITS[resource]}"
            )
            yield FieldVerdicts(held.index).ignored(
                f"{path}.quota", "Invalid",
                f"the children's quotas guarantee {total}, but `{name}` has a quota of {number_text(quota)}: KAI cannot "
                "satisfy every guarantee",
                f"raise the quota of `{name}`, or lower its children's quotas",
            )  # fmt: skip
        for child in alike:
            theirs = child.queue.counted(resource, "limit")
            if theirs is None or limit is None or child.index is None or theirs == UNLIMITED:
                continue
            if _exceeds([theirs], limit):
                yield FieldVerdicts(child.index).ignored(
                    f"{path}.limit", "Invalid",
                    f"limit {number_text(theirs)} exceeds the limit of parent `{name}`, {number_text(limit)}, "
                    "which takes precedence",
                    f"lower limit to {number_text(limit)}, or set limit: {UNLIMITED}",
                )  # fmt: skip


def _exceeds(parts: Sequence[float | None], whole: float) -> bool:
    """Return whether the sum of amounts exceeds another amount, ignoring binary rounding."""
    if whole < 0 or None in parts:
        return False
    return any(p is not None and p < 0 for p in parts) or sum(p or 0 for p in parts) > whole * (1 + 1e-9) + 1e-9

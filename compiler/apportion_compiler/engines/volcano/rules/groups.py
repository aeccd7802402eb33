"""PodGroup: its webhook looks at creation only, and wants an open queue.

Source: pkg/webhooks/admission/podgroups/validate/validate_podgroup.go at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engines.volcano.names import ROOT_QUEUE
from apportion_compiler.engines.volcano.rules.queues import rejected
from apportion_compiler.engines.volcano.rules.tree import SCHEDULING_GROUP, QueueTree
from apportion_compiler.plain_objects import integer, items, mapping, name_of, of_kind, text

_MODES = ("hard", "soft")


def group_verdicts(index: int, group: Manifest, tree: QueueTree, existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield what is wrong with a PodGroup."""
    spec = mapping(group, "spec")
    members = spec.get("minMember")
    if members is not None and (
        integer(group, "spec", "minMember") is None or (integer(group, "spec", "minMember") or 0) < 0
    ):
        yield rejected(
            index, "spec.minMember", f"{members!r} is not a number of 0 or more", "write how many start together"
        )
    yield from network_topology(index, "spec.networkTopology", mapping(spec, "networkTopology"))
    for number, entry in enumerate(items(spec, "subGroupPolicy")):
        at = f"spec.subGroupPolicy[{number}].networkTopology"
        yield from network_topology(index, at, mapping(entry, "networkTopology"))
    queue = text(spec, "queue")
    if queue is None or not _is_created(group, existing):
        return
    yield from open_queue(index, queue, tree, "PodGroup")
    if queue == ROOT_QUEUE or tree.children.get(queue):
        yield Verdict(
            Effect.PENDING,
            index,
            "spec.queue",
            "NotLeaf",
            f"queue {queue} has queues below it, and the capacity plugin admits no work to such queues",
            "name a queue that has none below it",
        )


def network_topology(index: int, at: str, asked: Mapping[str, object]) -> Iterator[Verdict]:
    """Yield what is wrong with a `networkTopology`."""
    if "highestTierAllowed" in asked and asked.get("highestTierName"):
        yield rejected(
            index,
            at,
            "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
            "leave one of the two out",
        )
    mode = asked.get("mode")
    if mode is not None and mode not in _MODES:
        yield rejected(index, f"{at}.mode", f"{mode!r} is not one of {', '.join(_MODES)}", "write hard", "NotSupported")


def open_queue(index: int, queue: str, tree: QueueTree, kind: str) -> Iterator[Verdict]:
    """Yield what keeps a queue from taking work: it is missing or not open.

    Of queues that are applied together with the work, the state is not known: it is open once the controller has
    seen it.
    """
    if tree.is_whole and not tree.has(queue):
        yield rejected(
            index, "spec.queue", f"unable to find queue: {queue} does not exist", "name a queue that exists", "NotFound"
        )
        return
    before = tree.before.get(queue)
    state = None if before is None else text(before, "status", "state")
    if state not in (None, "Open"):
        yield rejected(
            index,
            "spec.queue",
            f"can only submit {kind} to queue with state `Open`, queue `{queue}` status is `{state}`",
            "open the queue, or name another",
            "Forbidden",
        )


def _is_created(group: Manifest, existing: Sequence[Manifest]) -> bool:
    namespace = text(group, "metadata", "namespace")
    return not any(
        name_of(m) == name_of(group) and text(m, "metadata", "namespace") == namespace
        for m in of_kind(existing, SCHEDULING_GROUP, "PodGroup")
    )

"""PodGroup: its webhook evaluates only creation, and requires an open queue.

Source: pkg/webhooks/admission/podgroups/validate/validate_podgroup.go at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.objects import read, read_all
from apportion_api.volcano.names import ROOT_QUEUE
from apportion_api.volcano.objects import PodGroup
from apportion_compiler.engine_rules.verdict import Effect, Manifest, Verdict
from apportion_compiler.engines.volcano.rules.queue_tree import QueueTree
from apportion_compiler.engines.volcano.rules.queues import rejected
from apportion_compiler.plain_objects import mapping

_MODES = ("hard", "soft")


def group_verdicts(index: int, group: Manifest, tree: QueueTree, existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield verdicts on a PodGroup."""
    read_group = read(PodGroup, group)
    malformed = {fault.path: fault.found for fault in read_group.faults}
    members = malformed.get("spec.minMember", read_group.min_member)
    if "spec.minMember" in malformed or (read_group.min_member or 0) < 0:
        yield rejected(
            index,
            "spec.minMember",
            f"must be a non-negative integer, not {members!r}",
            "set minMember to the number of pods that start together",
        )
    yield from network_topology(index, "spec.networkTopology", read_group.network_topology)
    for number, entry in enumerate(read_group.sub_groups):
        at = f"spec.subGroupPolicy[{number}].networkTopology"
        yield from network_topology(index, at, mapping(entry, "networkTopology"))
    queue = read_group.queue
    if queue is None or not _is_created(read_group, existing):
        return
    yield from open_queue(index, queue, tree, "PodGroup")
    if queue == ROOT_QUEUE or tree.children.get(queue):
        yield Verdict(
            Effect.PENDING,
            index,
            "spec.queue",
            "NotLeaf",
            f"queue {queue} has child queues, and the capacity plugin admits workloads only to leaf queues",
            "use a leaf queue",
        )


def network_topology(index: int, at: str, asked: Mapping[str, object]) -> Iterator[Verdict]:
    """Yield verdicts on a `networkTopology`."""
    if "highestTierAllowed" in asked and asked.get("highestTierName"):
        yield rejected(
            index,
            at,
            "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
            "remove highestTierAllowed or highestTierName",
        )
    mode = asked.get("mode")
    if mode is not None and mode not in _MODES:
        yield rejected(index, f"{at}.mode", f"{mode!r} is not one of {', '.join(_MODES)}", "use hard", "NotSupported")


def open_queue(index: int, queue: str, tree: QueueTree, kind: str) -> Iterator[Verdict]:
    """Yield a verdict if a queue does not exist or is not open.

    The state of queues that are applied together with the workload is unknown: the controller opens them later.
    """
    if tree.is_whole and not tree.has(queue):
        yield rejected(
            index, "spec.queue", f"unable to find queue: {queue} does not exist", "use an existing queue", "NotFound"
        )
        return
    before = tree.before.get(queue)
    state = None if before is None else before.state
    if state not in (None, "Open"):
        yield rejected(
            index,
            "spec.queue",
            f"can only submit {kind} to queue with state `Open`, queue `{queue}` status is `{state}`",
            "open the queue, or use another queue",
            "Forbidden",
        )


def _is_created(group: PodGroup, existing: Sequence[Manifest]) -> bool:
    identity = group.namespace, group.name
    return all((other.namespace, other.name) != identity for other in read_all(PodGroup, existing))

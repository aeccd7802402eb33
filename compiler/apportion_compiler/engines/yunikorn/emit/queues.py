"""The partition `default` with the policy's tree below `root` (pkg/common/configs/config.go at be3bb487).

Only keys that YuniKorn 1.6 supports are written: with an unknown key, it rejects the whole file.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_api.yunikorn.names import PARTITION, ROOT_QUEUE
from apportion_compiler.backends.metadata import GROUP
from apportion_compiler.backends.partitions import partitions_of, queue_names
from apportion_compiler.engines.yunikorn.emit.amounts import bound_texts, guarantee_texts
from apportion_compiler.engines.yunikorn.emit.tree import LimitEntry, QueueNumbers, queue_numbers
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.placement import BINPACK, SPREAD

ID_PROPERTY = f"{GROUP}/queue-id"
TITLE_PROPERTY = f"{GROUP}/title"
OWNER_PROPERTY = f"{GROUP}/owner"
LABEL_PROPERTY = f"{GROUP}/label:"
"""Properties that document a queue and let `import` restore it; YuniKorn ignores unknown properties."""

NAMESPACE_TAG = "namespace.parentqueue"
_NODE_ORDER = {BINPACK.value: "binpacking", SPREAD.value: "fair"}


def scheduler_config(program: Program) -> Mapping[str, object]:
    """Return the complete configuration."""
    return {
        "partitions": [
            {
                "name": PARTITION,
                "nodesortpolicy": {"type": _NODE_ORDER[program.gpu_placement]},
                # Guarantees can only be reclaimed by preemption.
                "preemption": {"enabled": True},
                # The namespace determines the queue. A pod may name its queue only if the namespace has none, and
                # admission excludes such pods.
                "placementrules": [
                    {"name": "tag", "value": NAMESPACE_TAG, "create": False},
                    {"name": "provided", "create": False},
                ],
                "queues": [
                    {
                        "name": ROOT_QUEUE,
                        "parent": True,
                        # Every user who can create pods in a namespace may use its queue; without this entry, no user
                        # may.
                        "submitacl": "*",
                        "properties": {"priority.policy": "fence"},
                        "queues": _top_queues(program),
                    }
                ],
            }
        ]
    }


def _top_queues(program: Program) -> list[dict[str, object]]:
    (names,) = queue_names(program, partitions_of(program))
    numbers = queue_numbers(program)
    children: dict[str | None, list[dict[str, object]]] = {}
    # From the leaves upwards, so that the children of a queue exist.
    for queue in reversed(program.queues):
        below = children.pop(queue.id, [])
        written = _queue(queue, names[queue.id], numbers[queue.id], program)
        if below:
            written["queues"] = below[::-1]
        children.setdefault(queue.parent, []).append(written)
    return children.get(None, [])[::-1]


def _queue(queue: Queue, name: str, numbers: QueueNumbers, program: Program) -> dict[str, object]:
    written: dict[str, object] = {
        "name": name,
        "parent": not queue.is_leaf,
    }
    resources = {"guaranteed": guarantee_texts(numbers.guaranteed), "max": bound_texts(numbers.maximum)}
    if any(resources.values()):
        written["resources"] = {key: texts for key, texts in resources.items() if texts}
    written["properties"] = {**_settings(queue, numbers, program), **_notes(queue, name)}
    if numbers.limits:
        written["limits"] = [_limit(limit) for limit in numbers.limits]
    return written


def _settings(queue: Queue, numbers: QueueNumbers, program: Program) -> Mapping[str, str]:
    # Within a fence, the queue's own offset is used instead of the priority of its pods: otherwise a guarantee could
    # not be reclaimed from pods of a higher priority in other queues.
    settings = {"priority.policy": "fence"}
    if numbers.priority_offset:
        settings["priority.offset"] = str(numbers.priority_offset)
    evictable = {cls.name for cls in program.priority_classes if cls.preemptible}
    if queue.namespaces and queue.priority_classes and evictable.isdisjoint(queue.priority_classes):
        settings["preemption.policy"] = "disabled"
    return settings


def _notes(queue: Queue, name: str) -> Mapping[str, str]:
    notes: dict[str, str] = {}
    if queue.id != name:
        notes[ID_PROPERTY] = queue.id
    if queue.title:
        notes[TITLE_PROPERTY] = queue.title
    if queue.owner is not None:
        notes[OWNER_PROPERTY] = queue.owner
    return {**notes, **{f"{LABEL_PROPERTY}{key}": value for key, value in sorted(queue.labels.items())}}


def _limit(limit: LimitEntry) -> Mapping[str, object]:
    written: dict[str, object] = {"limit": f"user {limit.user}", "users": [limit.user]}
    if limit.maximum:
        written["maxresources"] = bound_texts(limit.maximum)
    if limit.max_applications:
        written["maxapplications"] = limit.max_applications
    return written

"""Updates of KAI's queues: any change is accepted, but a queue without its parent is dropped.

So a change is a single update, ordered so that parents are created first and the fewest guarantees are exceeded in
between.

Source: pkg/scheduler/cache/cluster_info/queue.go and pkg/admission/webhook/queuehooks at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from apportion_api.fields import Manifest
from apportion_api.kai.names import CHART_QUEUES
from apportion_api.kai.objects import Queue
from apportion_api.objects import is_a, read
from apportion_compiler.engines.kai.rules.queues import ACCOUNTED
from apportion_compiler.rollout.queue_state import Counts, Model, QueueEntry, State

_ROOT = ""
_UNLIMITED = 1 << 62


def _read(manifest: Manifest) -> QueueEntry:
    queue = read(Queue, manifest)
    return QueueEntry(manifest, queue.name, queue.parent or _ROOT, (_counts(queue, "quota"),), _counts(queue, "limit"))


def _counts(queue: Queue, field: Literal["quota", "limit"]) -> Counts:
    found: dict[str, int] = {}
    for resource in ACCOUNTED:
        amount = queue.counted(resource, field)
        if amount is not None:
            # Fractions of a device and of a millicore are integers in millionths.
            found[resource] = _UNLIMITED if amount < 0 else round(amount * 1_000_000)
    return found


def _takes(state: State, queue: QueueEntry) -> bool:
    if queue.parent in state.ours and (queue.parent not in state.queues or state.is_below_itself(queue)):
        return False
    if not _holds(queue, state.below(queue.name)):
        return False
    parent = state.queues.get(queue.parent)
    siblings = [other for other in state.below(queue.parent) if other.name != queue.name]
    return parent is None or _holds(parent, [*siblings, queue])


def _holds(parent: QueueEntry, children: Sequence[QueueEntry]) -> bool:
    return all(
        bound >= _UNLIMITED or sum(child.amounts[0].get(resource, 0) for child in children) <= bound
        for resource, bound in parent.amounts[0].items()
    ) and not any(
        limit < _UNLIMITED and limit > parent.limits.get(resource, _UNLIMITED)
        for child in children
        for resource, limit in child.limits.items()
    )


MODEL = Model(
    _ROOT,
    frozenset(CHART_QUEUES),
    lambda manifest: is_a(Queue, manifest),
    _read,
    _takes,
    at_root=lambda has, shall: has.manifest,
    lowered=lambda has, shall, goal: has.manifest,
    begun=lambda shall: shall.manifest,
    refuses=False,
)

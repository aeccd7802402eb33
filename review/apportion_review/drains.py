"""The queues to drain before an update, and the reasons: their work cannot be evicted, or they are deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apportion_api.counted_nouns import agreeing, counted
from apportion_review.fates.records import EngineFates, Fate
from apportion_review.policy_side import PolicySide

_KEPT = {Fate.STUCK: "that cannot be evicted", Fate.UNKNOWN: "that may be evicted"}


@dataclass(frozen=True, slots=True)
class Drain:
    """A queue to drain.

    Attributes:
        queue: Its id in the base.
        text: The condition to wait for: "`vision`: wait until 1 workload that cannot be evicted finishes".
        is_deleted: Whether the queue is deleted, so that only the deleting update has to wait.
    """

    queue: str
    text: str
    is_deleted: bool = False


def drains(
    cluster: str, base: PolicySide, head: PolicySide, fates: EngineFates | None, renamed: Mapping[str, str]
) -> tuple[Drain, ...]:
    """Return the queues of a cluster to drain.

    Args:
        cluster: The cluster, such as `prod/gpu-1`.
        base: The applied policy.
        head: The policy to apply.
        fates: Fates of the cluster's running work; None if unknown.
        renamed: The head's name of each renamed queue.
    """
    held, kept = (_leaves(side, cluster) for side in (base, head))
    deleted = {queue: renamed.get(queue, "") for queue in held if queue not in kept}
    return (*_of_kept_queues(fates, deleted), *_of_deleted_queues(fates, deleted))


def _leaves(side: PolicySide, cluster: str) -> tuple[str, ...]:
    """Return the leaf queues of a cluster."""
    program = side.checked.programs.get(cluster)
    queues = () if program is None else program.queues
    inner = {queue.parent for queue in queues}
    return tuple(queue.id for queue in queues if queue.id not in inner)


def _of_kept_queues(fates: EngineFates | None, deleted: Mapping[str, str]) -> Iterator[Drain]:
    found: dict[tuple[Fate, str], int] = {}
    for row in () if fates is None else fates.rows:
        is_kept = row.workload.queue not in deleted
        if is_kept and row.head.fate in _KEPT and row.base.fate is not row.head.fate:
            key = row.head.fate, row.workload.queue
            found[key] = found.get(key, 0) + 1
    for (fate, queue), n in found.items():
        finish = agreeing(n, "finishes", "finish")
        yield Drain(queue, f"`{queue}`: wait until {counted(n, 'workload')} {_KEPT[fate]} {finish}")


def _of_deleted_queues(fates: EngineFates | None, deleted: Mapping[str, str]) -> Iterator[Drain]:
    """Yield the deleted queues in which work runs, or may run."""
    for queue, successor in deleted.items():
        if fates is None:
            wait = "wait until its workloads finish"
        else:
            n = sum(row.workload.queue == queue for row in fates.rows)
            if not n:
                continue
            wait = f"wait until its {agreeing(n, 'running workload finishes', f'{n} running workloads finish')}"
        if successor:
            wait += f", or first add `{successor}` in a separate change, so that work can be submitted to it before this change is applied"
        yield Drain(queue, f"`{queue}`, which is deleted: {wait}", is_deleted=True)

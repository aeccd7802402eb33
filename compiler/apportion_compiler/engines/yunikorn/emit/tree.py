"""Guarantees and maxima of each queue, such that YuniKorn accepts the whole tree.

It rejects a configuration in which the maximum of a child exceeds its parent's, or the guarantees of children exceed
their parent's. A child's maximum is therefore capped at those of its ancestors, which apply anyway, and an UNLIMITED
guarantee is capped at the maximum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_compiler.engines.yunikorn.emit.amounts import UNBOUNDED, bounded, is_counted, number
from apportion_compiler.ir.once_per_program import once_per_program
from apportion_compiler.ir.program import Program, Queue, UserLimit

ALL_USERS = "*"
MAX_APPLICATIONS = 2**63 - 1
"""Substitute for unlimited in a limit that requires a number."""


@dataclass(frozen=True, slots=True)
class LimitEntry:
    """A limit for one user, or for all users without their own. `max_applications` 0 is unlimited."""

    user: str
    maximum: Mapping[str, int]
    max_applications: int


@dataclass(frozen=True, slots=True)
class QueueNumbers:
    """A queue's numbers. `maximum` is its own limit, `above` the smallest of it and its ancestors'.

    `limits` are in the order that YuniKorn requires, with that of all users last. `priority_offset` orders siblings.
    """

    guaranteed: Mapping[str, int]
    maximum: Mapping[str, int]
    above: Mapping[str, int]
    limits: tuple[LimitEntry, ...]
    priority_offset: int


@once_per_program
def queue_numbers(program: Program) -> Mapping[str, QueueNumbers]:
    """Return the numbers of every queue, by id."""
    offsets = _priority_offsets(program.queues)
    made: dict[str, QueueNumbers] = {}
    users: dict[str | None, Mapping[str, LimitEntry]] = {None: {}}
    for queue in program.queues:
        inherited = made[queue.parent].above if queue.parent is not None else {}
        own = bounded(queue.limit)
        maximum = {r: min(amount, inherited.get(r, amount)) for r, amount in own.items()}
        above = {**inherited, **maximum}
        guarantees = {r: number(r, amount) for r, amount in queue.guaranteed.items() if is_counted(r)}
        # Only an UNLIMITED guarantee can exceed the maximum; checks reject others.
        guaranteed = {
            r: min(amount, above.get(r, amount)) if amount == UNBOUNDED else amount for r, amount in guarantees.items()
        }
        limits = _limits(queue, maximum, users[queue.parent])
        users[queue.id] = _with_those_above({limit.user: limit for limit in limits}, users[queue.parent])
        made[queue.id] = QueueNumbers(guaranteed, maximum, above, limits, offsets[queue.id])
    return made


def _limits(queue: Queue, maximum: Mapping[str, int], above: Mapping[str, LimitEntry]) -> tuple[LimitEntry, ...]:
    declared: dict[str, LimitEntry] = {}
    for user in queue.users:
        own = _limit(user)
        declared[user.user] = _smaller(own, declared[user.user]) if user.user in declared else own

    def merge(user: str, own: LimitEntry) -> LimitEntry:
        over = above.get(user, above.get(ALL_USERS))
        within = _smaller(replace(own, user=user), _of_queue(maximum))
        return within if over is None else _smaller(within, over)

    merged = {user: merge(user, own) for user, own in declared.items()}
    if ALL_USERS in declared:
        # The limit of all users must not exceed that of an ancestor; users with a higher limit there get an explicit
        # one here.
        for name in sorted(above.keys() - declared.keys()):
            held = merge(name, declared[ALL_USERS])
            if held != replace(merged[ALL_USERS], user=name):
                merged[name] = held
    all_users = merged.get(ALL_USERS, above.get(ALL_USERS))
    written: list[LimitEntry] = []
    for limit in merged.values():
        if limit.maximum or limit.max_applications:
            written.append(limit)
        elif all_users is not None and (all_users.maximum or all_users.max_applications):
            # An unlimited user is an exception from the limit of all users, and YuniKorn requires a number for it.
            written.append(replace(limit, max_applications=MAX_APPLICATIONS))
    return tuple(sorted(written, key=lambda limit: (limit.user == ALL_USERS, limit.user)))


def _limit(user: UserLimit) -> LimitEntry:
    maximum = bounded(user.limit)
    if user.max_jobs == 0:
        # Zero applications would mean unlimited; zero pods has the intended effect.
        return LimitEntry(user.user, {**maximum, "pods": 0}, 0)
    return LimitEntry(user.user, maximum, min(user.max_jobs or 0, MAX_APPLICATIONS))


def _with_those_above(here: Mapping[str, LimitEntry], above: Mapping[str, LimitEntry]) -> Mapping[str, LimitEntry]:
    """Return the limit of each user in a queue: that of all users applies to users without their own."""
    found: dict[str, LimitEntry] = {}
    for user in {**above, **here}:
        own, over = (limits.get(user, limits.get(ALL_USERS)) for limits in (here, above))
        if own is not None and over is not None:
            clamped = _smaller(own, over)
            found[user] = replace(clamped, maximum={**over.maximum, **clamped.maximum})
        else:
            found[user] = own or over or LimitEntry(user, {}, 0)
    return found


def _of_queue(maximum: Mapping[str, int]) -> LimitEntry:
    return LimitEntry("", maximum, 0)


def _smaller(limit: LimitEntry, other: LimitEntry) -> LimitEntry:
    """Return the smaller limit for each resource, and for the number of applications."""
    maximum = {r: min(amount, other.maximum.get(r, amount)) for r, amount in limit.maximum.items()}
    counts = [n for n in (limit.max_applications, other.max_applications) if n]
    return LimitEntry(limit.user, maximum, min(counts, default=0))


_DEFAULT_PRIORITY = 100
"""The default priority of the policy."""


def _priority_offsets(queues: Sequence[Queue]) -> Mapping[str, int]:
    """Return offsets that order siblings by their priority, none above the parent's.

    YuniKorn compares only siblings when it selects the next queue. But when it searches for victims, it skips a queue
    with a greater offset than the parent that it shares with the requesting queue.
    """
    found: dict[str | None, set[int]] = {}
    for queue in queues:
        found.setdefault(queue.parent, set()).add(_priority(queue))
    ranks = {
        parent: {priority: rank for rank, priority in enumerate(sorted(priorities, reverse=True))}
        for parent, priorities in found.items()
    }
    offsets: dict[str | None, int] = {None: 0}
    for queue in queues:
        offsets[queue.id] = offsets[queue.parent] - ranks[queue.parent][_priority(queue)]
    return {id_: offset for id_, offset in offsets.items() if id_ is not None}


def _priority(queue: Queue) -> int:
    return _DEFAULT_PRIORITY if queue.priority is None else queue.priority

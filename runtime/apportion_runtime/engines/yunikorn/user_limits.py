"""Limits for users: what each user may use, and how many of its applications may run, in a queue and those below.

A user with a limit of its own in a queue is not subject to that of all users there.
Source: yunikorn-core pkg/scheduler/ugm (manager.go, queue_tracker.go) at be3bb487.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from apportion_runtime.engines.yunikorn.amounts import Amounts, is_zero, least, minus, minus_existing, plus, pruned
from apportion_runtime.engines.yunikorn.queues import Queue

ALL_USERS = "*"


@dataclass(frozen=True, slots=True)
class UserLimit:
    """A limit. `maximum` with only zeros, and 0 applications, are unlimited."""

    maximum: Amounts
    max_applications: int


@dataclass(slots=True)
class _Use:
    allocated: Amounts = field(default_factory=dict[str, int])
    applications: set[str] = field(default_factory=set[str])


class UserLimits:
    """The limits of a partition, and the usage of each user.

    Args:
        limits: By the path of the queue, then by user.
    """

    def __init__(self, limits: Mapping[str, Mapping[str, UserLimit]]) -> None:
        self._limits = limits
        self._used: dict[tuple[str, str], _Use] = {}

    @property
    def has_any(self) -> bool:
        """Whether any user has a limit."""
        return any(self._limits.values())

    def headroom(self, user: str, queue: Queue) -> Amounts | None:
        """Return the amounts that a user may still use in a queue; None is unlimited."""
        found: Amounts | None = None
        for path, limit in self._of(user, queue):
            if not is_zero(limit.maximum):
                found = least(found, minus_existing(limit.maximum, self._use(user, path).allocated))
        return found

    def can_run(self, user: str, queue: Queue, application: str) -> bool:
        """Return whether a user may run an application in a queue."""
        for path, limit in self._of(user, queue):
            applications = self._use(user, path).applications
            if (
                limit.max_applications
                and application not in applications
                and len(applications) >= limit.max_applications
            ):
                return False
        return True

    def add(self, user: str, queue: Queue, application: str, amounts: Amounts) -> None:
        """Count an allocation."""
        for each in queue.upward():
            use = self._used.setdefault((user, each.path), _Use())
            use.allocated = pruned(plus(use.allocated, amounts))
            use.applications.add(application)

    def remove(self, user: str, queue: Queue, application: str, amounts: Amounts, *, is_last: bool) -> None:
        """Stop counting an allocation; `is_last` if its application has no other and no requests."""
        for each in queue.upward():
            use = self._used.setdefault((user, each.path), _Use())
            use.allocated = pruned(minus(use.allocated, amounts))
            if is_last:
                use.applications.discard(application)

    def _use(self, user: str, path: str) -> _Use:
        return self._used.get((user, path), _NOTHING)

    def _of(self, user: str, queue: Queue) -> Sequence[tuple[str, UserLimit]]:
        found: list[tuple[str, UserLimit]] = []
        for each in queue.upward():
            here = self._limits.get(each.path, {})
            limit = here.get(user) or here.get(ALL_USERS)
            if limit is not None:
                found.append((each.path, limit))
        return found


_NOTHING = _Use()

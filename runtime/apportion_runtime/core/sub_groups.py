"""The tree of a pod group's sub-groups: which pods must run together, and in which order they are filled.

Source: pkg/scheduler/api/podgroup_info/subgroup_info/, plugins/subgrouporder.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key

from apportion_runtime.core.snapshot import SubGroup, TopologyConstraint
from apportion_runtime.core.status import (
    ACTIVE_ALLOCATED_STATUSES,
    ACTIVE_USED_STATUSES,
    ALIVE_STATUSES,
    GATED,
)
from apportion_runtime.core.task import Task

DEFAULT_POD_SET = "default"


class PodSet:
    """A leaf of the tree: pods of which a minimum must run together.

    The counts belong to the owner of the set: a view of a job keeps those of the time it was created.
    """

    __slots__ = (
        "constraint",
        "min_available",
        "n_alive",
        "n_allocated",
        "n_gated",
        "n_used",
        "name",
        "tasks",
    )

    def __init__(self, name: str, min_available: int, constraint: TopologyConstraint | None) -> None:
        self.name = name
        self.min_available = min_available
        self.constraint = constraint
        self.tasks: dict[str, Task] = {}
        self.n_allocated = self.n_used = self.n_alive = self.n_gated = 0

    def count(self, status: int, by: int) -> None:
        """Add a pod to the counts, or subtract it with -1."""
        if status & ACTIVE_ALLOCATED_STATUSES:
            self.n_allocated += by
        if status & ACTIVE_USED_STATUSES:
            self.n_used += by
        if status & ALIVE_STATUSES:
            self.n_alive += by
        if status == GATED:
            self.n_gated += by

    @property
    def n_members(self) -> int:
        """Pods that hold resources."""
        return self.n_allocated

    @property
    def threshold(self) -> int:
        """Members that satisfy it."""
        return self.min_available

    @property
    def is_ready(self) -> bool:
        """Whether enough pods exist that may start."""
        return self.n_alive - self.n_gated >= self.min_available

    @property
    def is_satisfied(self) -> bool:
        """Whether enough pods are allocated."""
        return self.n_allocated >= self.min_available

    def pod_sets(self) -> Iterator[PodSet]:
        """Yield itself, as for a set of sub-groups."""
        yield self


class SubGroupSet:
    """An inner part of the tree; the root has no name."""

    __slots__ = ("constraint", "groups", "min_members", "name", "sets")

    def __init__(self, name: str, min_members: int | None, constraint: TopologyConstraint | None) -> None:
        self.name = name
        self.min_members = min_members
        self.constraint = constraint
        self.groups: list[SubGroupSet] = []
        self.sets: list[PodSet] = []

    def add(self, member: Member) -> None:
        """Add a child."""
        if isinstance(member, PodSet):
            self.sets.append(member)
        else:
            self.groups.append(member)

    def members(self) -> list[Member]:
        """Return the direct parts: groups, then pod sets."""
        return [*self.groups, *self.sets]

    @property
    def n_members(self) -> int:
        """Direct parts that are satisfied."""
        return sum(member.n_members >= member.threshold for member in self.members())

    @property
    def threshold(self) -> int:
        """Direct parts that satisfy it."""
        return self.min_members if self.min_members is not None else len(self.groups) + len(self.sets)

    @property
    def is_ready(self) -> bool:
        """Whether enough parts could start."""
        return sum(member.is_ready for member in self.members()) >= self.threshold

    @property
    def is_satisfied(self) -> bool:
        """Whether enough parts are satisfied."""
        return self.n_members >= self.threshold

    @property
    def is_flat(self) -> bool:
        """Whether the set is a single pod set without a topology constraint."""
        if self.groups or len(self.sets) != 1:
            return False
        return self.constraint is None and self.sets[0].constraint is None

    def pod_sets(self) -> Iterator[PodSet]:
        """Yield the pod sets of the whole part."""
        yield from self.sets
        for group in self.groups:
            yield from group.pod_sets()

    def paths(self) -> Iterator[tuple[PodSet, tuple[SubGroupSet, ...]]]:
        """Yield each pod set of the whole part, with the sets around it, this one last."""
        for pod_set in self.sets:
            yield pod_set, (self,)
        for group in self.groups:
            for pod_set, around in group.paths():
                yield pod_set, (*around, self)


Member = PodSet | SubGroupSet


def order_members(members: list[Member]) -> list[Member]:
    """Return parts in the order in which they are filled."""
    return members if len(members) < 2 else sorted(members, key=_MEMBER_KEY)


def _compare_members(left: Member, right: Member) -> int:
    """Below its minimum first; optional ones last; then the smaller part of the minimum (plugins/subgrouporder)."""
    a, need_a, b, need_b = left.n_members, left.threshold, right.n_members, right.threshold
    if a >= need_a or b >= need_b:
        if a < need_a:
            return -1
        if b < need_b:
            return 1
        if (need_a == 0) != (need_b == 0):
            return 1 if need_a == 0 else -1
        ratio_a, ratio_b = (a, b) if need_a == 0 else (a / need_a, b / need_b)
        if ratio_a != ratio_b:
            return -1 if ratio_a < ratio_b else 1
    return (left.name > right.name) - (left.name < right.name)


_MEMBER_KEY = cmp_to_key(_compare_members)


def tree(part: SubGroup) -> Member:
    """Return the tree of a pod group, without pods."""
    if not part.children:
        return PodSet(part.name or DEFAULT_POD_SET, part.min_members or 0, part.constraint)
    made = SubGroupSet(part.name, part.min_members, part.constraint)
    for child in part.children:
        made.add(tree(child))
    return made


def copied(part: Member) -> Member:
    """Return a tree like another, without pods."""
    if isinstance(part, PodSet):
        return PodSet(part.name, part.min_available, part.constraint)
    made = SubGroupSet(part.name, part.min_members, part.constraint)
    for child in part.members():
        made.add(copied(child))
    return made

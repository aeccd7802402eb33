"""The queues of Volcano's capacity plugin: their real capability and deserved resources.

`reclaim_rules.py` has the rules for reclaim.

Source: pkg/scheduler/plugins/capacity/capacity.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from itertools import repeat

from apportion_api.volcano import objects as api
from apportion_runtime.engines.volcano.amounts import (
    UNBOUNDED,
    Amounts,
    exceeding,
    is_empty,
    largest,
    minus,
    over,
    plus,
)
from apportion_runtime.engines.volcano.node_groups import GroupAffinity, group_affinity
from apportion_runtime.snapshots.pod_requests import CPU, MEMORY, amounts, total

ROOT, DEFAULT = "root", "default"


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A queue as specified by its object."""

    name: str
    parent: str = ROOT
    priority: int = 0
    reclaimable: bool = True
    is_open: bool = True
    capability: Amounts = field(default_factory=dict)
    deserved: Amounts = field(default_factory=dict)
    guarantee: Amounts = field(default_factory=dict)
    affinity: GroupAffinity | None = None
    created: str = ""


def queue_spec(queue: api.Queue) -> QueueSpec:
    """Return the queue of an object. Raises `ValueError` for an invalid field."""
    if queue.faults:
        raise ValueError(str(queue.faults[0]))
    return QueueSpec(
        name=queue.name,
        parent=queue.parent or ROOT,
        priority=queue.priority or 0,
        reclaimable=queue.reclaimable is not False,
        is_open=(queue.state or queue.former_state or "Open") == "Open",
        capability=amounts(queue.capability),
        deserved=amounts(queue.deserved),
        guarantee=amounts(queue.guarantee),
        affinity=group_affinity(queue),
        created=queue.created or "",
    )


def share(allocated: Amounts, deserved: Amounts) -> float:
    """Return the largest ratio of allocated to deserved resources; 1 if nothing is deserved."""
    if is_empty(deserved):
        return 1.0
    return max(allocated.get(name, 0) / value for name, value in deserved.items() if value > 0)


@dataclass(slots=True)
class Queue:
    """A queue in a cycle.

    Attributes:
        real: Its real capability: the guarantees of other queues are subtracted, and its capability is the bound.
        unbounded: The resources that neither it nor its ancestors limit.
        share: Its share: allocated over deserved; 1 for a queue without deserved resources.
        at_start: Its allocated, requested, inqueue and elastic resources at the start of a cycle.
    """

    spec: QueueSpec
    ancestors: tuple[str, ...] = ()
    children: list[str] = field(default_factory=list)
    capability: dict[str, int] = field(default_factory=dict)
    deserved: dict[str, int] = field(default_factory=dict)
    guarantee: dict[str, int] = field(default_factory=dict)
    real: dict[str, int] = field(default_factory=dict)
    unbounded: frozenset[str] = frozenset()
    allocated: dict[str, int] = field(default_factory=dict)
    requested: dict[str, int] = field(default_factory=dict)
    inqueue: dict[str, int] = field(default_factory=dict)
    elastic: dict[str, int] = field(default_factory=dict)
    share: float = 0.0
    at_start: tuple[Amounts, Amounts, Amounts, Amounts] = ({}, {}, {}, {})

    @property
    def name(self) -> str:
        """The queue's name."""
        return self.spec.name

    def update_share(self) -> None:
        """Recompute the share."""
        self.share = share(self.allocated, self.deserved)


class Capacity:
    """The queues of a cycle.

    Args:
        specs: The queues; `root` and `default`, which Volcano creates itself, are added.
        resources: The total of all nodes.
        hierarchy: Whether queues form a tree.
        ancestor_level: The number of ancestor levels that reclaim also checks.

    Attributes:
        fault: Why nothing is scheduled; empty if the tree is valid.
        changed: The queues whose amounts may differ from those at the end of the previous cycle.
        version: The number of changes of allocations.
        known_victims: Whether pods of some queues and requests may be reclaimed for others, with the allocations that this
            depends on, of which each is replaced by another mapping when it changes.
    """

    def __init__(
        self, specs: Iterable[QueueSpec], resources: Amounts, *, hierarchy: bool, ancestor_level: int = 0
    ) -> None:
        known = {ROOT: QueueSpec(ROOT, ""), DEFAULT: QueueSpec(DEFAULT), **{spec.name: spec for spec in specs}}
        self.hierarchy = hierarchy
        self.ancestor_level = ancestor_level if hierarchy else 0
        self.fault = ""
        self._levels: dict[tuple[str, str], int] = {}
        self._paths: dict[str, tuple[Queue, ...]] = {}
        self._below_common: dict[tuple[str, str], tuple[Queue, Queue]] = {}
        """Of two leaf queues of equal priority, the queues below their lowest common ancestor on their paths."""
        self.version = 0
        self.known_victims: dict[object, tuple[tuple[Amounts, ...], bool]] = {}
        self.queues = {name: _queue(spec) for name, spec in known.items()}
        for queue in self.queues.values():
            self._place(queue)
        if hierarchy:
            root = self.queues[ROOT]
            for name in (CPU, MEMORY, *resources):
                root.capability.setdefault(name, UNBOUNDED)
            root.real = root.capability
            self._divide(root)
        else:
            self._divide_flat(resources)
        if not self.fault:
            for name, queue in self.queues.items():
                path = self.path(name)
                queue.unbounded = frozenset(each for each in queue.real if all(map(_is_unbounded, path, repeat(each))))
        self._initial_fault = self.fault
        self.changed = dict.fromkeys(self.queues)
        self._moved: dict[str, None] = {}
        """The queues whose amounts may differ from those at the start of the cycle."""
        self.inner = [name for name in self.queues if not self.is_leaf(name)]
        self.update_shares()

    def begin_cycle(self) -> None:
        """Set the amounts to those of the jobs; `real` and `deserved` amounts are kept."""
        self.fault = self._initial_fault
        self.changed |= self._moved
        self._moved.clear()
        self.version += 1
        for name in self.changed:
            queue = self.queues[name]
            queue.allocated, queue.requested, queue.inqueue, queue.elastic = map(dict, queue.at_start)
            queue.update_share()

    def take_changed(self) -> list[Queue]:
        """Return the queues whose amounts may differ from those at the last call."""
        found = [self.queues[name] for name in {**self.changed, **self._moved}]
        self.changed.clear()
        return found

    def _place(self, queue: Queue) -> None:
        ancestors: list[str] = []
        at = queue.spec.parent
        while self.hierarchy and at:
            if at not in self.queues or at in (*ancestors, queue.name):
                self.fault = f"the queue {queue.name} is not a descendant of {ROOT}"
                return
            ancestors.insert(0, at)
            at = self.queues[at].spec.parent
        queue.ancestors = tuple(ancestors)
        if ancestors:
            self.queues[ancestors[-1]].children.append(queue.name)

    def _divide(self, queue: Queue) -> None:
        """Set the real capability of a queue's children."""
        children = [self.queues[name] for name in queue.children]
        for child in children:
            child.deserved = largest(child.deserved, child.guarantee)
            for name, value in queue.capability.items():
                if name not in child.capability or (name in (CPU, MEMORY) and child.capability[name] <= 0):
                    child.capability[name] = value
        guaranteed = total(child.guarantee for child in children)
        if queue.name == ROOT:
            queue.guarantee, queue.deserved = guaranteed, total(child.deserved for child in children)
        for child in children:
            child.real = _bounded(plus(exceeding(queue.real, guaranteed), child.guarantee), child.capability)
            self._divide(child)

    def _divide_flat(self, resources: Amounts) -> None:
        guaranteed = total(queue.guarantee for queue in self.queues.values())
        for queue in self.queues.values():
            for name in (CPU, MEMORY):
                if queue.capability and queue.capability.get(name, 0) <= 0:
                    queue.capability[name] = UNBOUNDED
            queue.real = _bounded(plus(exceeding(resources, guaranteed), queue.guarantee), queue.capability)
            queue.deserved = largest(_bounded(queue.deserved, queue.real), queue.guarantee)

    def path(self, name: str) -> tuple[Queue, ...]:
        """Return a queue and its ancestors, itself first."""
        found = self._paths.get(name)
        if found is None:
            names = reversed((*self.queues[name].ancestors, name))
            found = self._paths[name] = tuple(self.queues[each] for each in names)
        return found

    def is_leaf(self, name: str) -> bool:
        """Return whether a queue can run jobs."""
        return not self.hierarchy or not self.queues[name].children

    def update_shares(self) -> None:
        """Compute the shares of all queues, as at the start of a cycle."""
        for queue in self.queues.values():
            queue.update_share()

    def charge(self, name: str, request: Amounts, sign: int = 1) -> None:
        """Add to or subtract from the allocation of a queue and its ancestors.

        Within a cycle, only the share of the queue itself is updated (capacity.go, AllocateFunc and DeallocateFunc).
        """
        self.version += 1
        for queue in self.path(name):
            self._moved[queue.name] = None
            queue.allocated = plus(queue.allocated, request) if sign > 0 else minus(queue.allocated, request)
        self.queues[name].update_share()

    def count(self, name: str, *, requested: Amounts, inqueue: Amounts, elastic: Amounts) -> None:
        """Add the request, inqueue and elastic resources of a job."""
        if not (requested or inqueue or elastic):
            return
        for queue in self.path(name):
            self._moved[queue.name] = None
            queue.requested = plus(queue.requested, requested)
            queue.inqueue = plus(queue.inqueue, inqueue)
            queue.elastic = plus(queue.elastic, elastic)

    def add_totals(self, name: str, *, held: Amounts, requested: Amounts, inqueue: Amounts, elastic: Amounts) -> None:
        """Add to the amounts of a queue's jobs, as of the start of the next cycle."""
        added = (held, requested, inqueue, elastic)
        for queue in self.path(name):
            self.changed[queue.name] = None
            one, two, three, four = map(plus, queue.at_start, added)
            queue.at_start = one, two, three, four

    def refused(self, name: str, request: Amounts) -> str:
        """Return why a queue rejects the allocation of a pod; empty if it allows it."""
        if self.fault:
            return self.fault
        if not self.queues[name].spec.is_open:
            return f"queue {name} is not open"
        if not self.is_leaf(name):
            return f"queue {name} is not a leaf queue"
        if request.keys() <= self.queues[name].unbounded:
            return ""
        for queue in self.path(name):
            short = over(plus(queue.allocated, request), queue.real, request)
            if short:
                return _insufficient(short)
        return ""

    def not_enqueued(self, name: str, least: Amounts) -> str:
        """Return why a job with some minimum resources cannot be enqueued; empty if it can."""
        if self.fault:
            return self.fault
        if not self.is_leaf(name):
            return f"queue {name} is not a leaf queue"
        if not self.queues[name].spec.is_open:
            return f"queue {name} is not open"
        for queue in self.path(name):
            used = minus(plus(plus(least, queue.allocated), queue.inqueue), queue.elastic)
            short = over(used, queue.real, least)
            if short:
                return _insufficient(short)
        return ""

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Return queues in queue order."""
        return sorted(names, key=cmp_to_key(self.compare))

    def compare(self, left: str, right: str) -> int:
        """Compare two queues by queue order."""
        above, one, other = self._below_common.get((left, right)), self.queues[left], self.queues[right]
        if above is not None:
            return _by_share(*above) or _by_age(one, other)
        if one.spec.priority != other.spec.priority:
            return other.spec.priority - one.spec.priority
        if not self.hierarchy:
            return _by_share(one, other) or _by_age(one, other)
        if self.is_leaf(left) != self.is_leaf(right):
            return -1 if self.is_leaf(left) else 1
        if self.is_leaf(left):
            level = self.level(left, right)
            one_above, other_above = (
                self.queues[queue.ancestors[level + 1]] if level + 1 < len(queue.ancestors) else queue
                for queue in (one, other)
            )
            above = self._below_common[left, right] = one_above, other_above
            return _by_share(*above) or _by_age(one, other)
        return _by_share(one, other) or _by_age(one, other)

    def level(self, left: str, right: str) -> int:
        """Return the depth of the lowest common ancestor of two queues."""
        known = self._levels.get((left, right))
        if known is not None:
            return known
        found = 0
        for depth, pair in enumerate(zip(self.queues[left].ancestors, self.queues[right].ancestors, strict=False)):
            if pair[0] != pair[1]:
                break
            found = depth
        self._levels[left, right] = found
        return found

    def victim_order(self, preemptor: str) -> Callable[[str, str], int]:
        """Return the victim order of queues for a preemptor's queue: nearer relatives first, then reverse queue order."""

        def compare(left: str, right: str) -> int:
            nearer = self.level(right, preemptor) - self.level(left, preemptor)
            return nearer or self.compare(right, left)

        return compare


def _queue(spec: QueueSpec) -> Queue:
    return Queue(spec, capability=dict(spec.capability), deserved=dict(spec.deserved), guarantee=dict(spec.guarantee))


def _is_unbounded(queue: Queue, name: str) -> bool:
    """Return whether no allocation reaches the real capability of a queue."""
    return queue.real.get(name, 0) >= UNBOUNDED // 2


def _bounded(held: Amounts, bound: Amounts) -> dict[str, int]:
    """Return amounts capped by limits, if set."""
    return {name: min(value, bound.get(name, UNBOUNDED)) for name, value in held.items()}


def _by_share(one: Queue, other: Queue) -> int:
    if one.share != other.share:
        return -1 if one.share < other.share else 1
    return int(is_empty(one.deserved)) - int(is_empty(other.deserved))


def _by_age(one: Queue, other: Queue) -> int:
    first, second = (one.spec.created, one.name), (other.spec.created, other.name)
    return (first > second) - (first < second)


def _insufficient(names: Sequence[str]) -> str:
    return f"queue resource quota insufficient: {', '.join(f'insufficient {name}' for name in names)}"

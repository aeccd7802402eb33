"""The result of `apportion advise`."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_review.advise.goals import Goal

INTERRUPTED = "interrupted"
"""Why a search was stopped by its user."""


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """A changed amount, in GPUs of the policy, with the line of the declaration: `teams/vision.py:12`."""

    queue: str
    field: str
    resource: str
    before: str
    after: str
    place: str


@dataclass(frozen=True, slots=True)
class PoolChange:
    """A changed number of nodes of a pool, with the line of its declaration."""

    pool: str
    before: int
    after: int
    place: str


@dataclass(frozen=True, slots=True)
class GoalResult:
    """The value that a goal bounds, before and after the change.

    Attributes:
        goal: The goal.
        before: Value under the current policy.
        after: Value under the changed policy, or under the closest one found.
        at_best: Value if every unit is given to the goal; None if that was not simulated.
        cost: Sum of the changes that meets this goal alone, in GPUs; None if not all goals are met.
    """

    goal: Goal
    before: float
    after: float
    at_best: float | None = None
    cost: int | None = None

    @property
    def is_met(self) -> bool:
        """Whether the changed policy meets it."""
        return not self.goal.excess(self.after)

    @property
    def is_attainable(self) -> bool:
        """Whether it is met if every unit is given to it, or that is unknown."""
        return self.at_best is None or not self.goal.excess(self.at_best)


@dataclass(frozen=True, slots=True)
class Run:
    """One simulation: the quotas in GPUs on the cluster, then the sizes of pools, and the value of each goal.

    `values` is None if it ended early, when it was certain that a goal is missed. `is_sample` is whether it had a
    sample of the load.
    """

    quotas: tuple[int, ...]
    values: tuple[float, ...] | None
    is_sample: bool = False


@dataclass(frozen=True, slots=True)
class Advice:
    """The result.

    Attributes:
        cluster: The cluster: `prod/gpu-1`.
        load: The scenario or trace.
        goals: The goals, in the order in which they were given.
        changes: The changed amounts; empty if the goals are met, or cannot be met.
        pool_changes: The changed sizes of pools.
        columns: The searched quotas and pools, as `serving guaranteed`, in the order of `Run.quotas`.
        runs: The simulations, in order.
        patch: Changes of the author's files as a unified diff.
        unpatched: Changes that cannot be written as a diff, because the amount is not a literal in the file.
        unpatched_pools: The same for pools.
        searches_pools: Whether the search may enlarge pools.
        notes: What was not searched.
        max_runs: Maximum number of simulations.
        required: If goals exclude each other, the index of each, and GPUs guaranteed to its queues that miss it.
        sample: One of how many jobs and nodes a sample has, on which quotas were chosen first; 1 without a sample.
        stopped: Why the search was stopped, if it was: `interrupted`, or the limit.
    """

    cluster: str
    load: str
    goals: tuple[GoalResult, ...]
    changes: tuple[QuotaChange, ...]
    pool_changes: tuple[PoolChange, ...]
    columns: tuple[str, ...]
    runs: tuple[Run, ...]
    patch: str = ""
    unpatched: tuple[QuotaChange, ...] = ()
    unpatched_pools: tuple[PoolChange, ...] = ()
    searches_pools: bool = False
    notes: tuple[str, ...] = ()
    max_runs: int = 0
    required: tuple[tuple[int, int], ...] = ()
    sample: int = 1
    stopped: str = ""

    @property
    def is_met(self) -> bool:
        """Whether all goals are met, with the changes if there are any."""
        return all(result.is_met for result in self.goals)

    @property
    def is_interrupted(self) -> bool:
        """Whether the user stopped the search."""
        return self.stopped == INTERRUPTED

    @property
    def has_changes(self) -> bool:
        """Whether the advice is to change the policy."""
        return bool(self.changes or self.pool_changes)

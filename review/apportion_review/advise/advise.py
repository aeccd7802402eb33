"""The search for quotas and pool sizes that meet goals, with the simulations behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from apportion_review.advise.goals import Goal, value_of
from apportion_review.advise.pools import SearchedPool
from apportion_review.advise.problem import (
    Draw,
    Excesses,
    Problem,
    Search,
    SearchStoppedError,
    Variable,
    Vector,
)
from apportion_review.advise.quotas import SearchedQuotas
from apportion_review.advise.records import GoalResult, Run
from apportion_review.advise.search import Found, find
from apportion_runtime.sim.controllers.workloads import REFUSED
from apportion_runtime.sim.report.summary import Summary


@dataclass(frozen=True, slots=True)
class EndedEarly:
    """A simulation that was ended because it was certain to miss some goals, which are given by their indices."""

    missed: tuple[int, ...]


class Simulate(Protocol):
    """Simulates a batch of quotas and pool sizes; None for a policy with errors.

    Unless `to_end` is true, a simulation may end as soon as a goal is missed.

    Raises:
        SearchStoppedError: If no more simulations are to be run.
    """

    def __call__(self, batch: Sequence[Vector], *, to_end: bool) -> Sequence[Summary | EndedEarly | None]:
        """Return the results in the order of the batch."""


@dataclass(frozen=True, slots=True)
class SearchInputs:
    """What is searched, and how.

    Attributes:
        goals: The goals.
        quotas: The quotas that may change.
        pools: The pools that may grow if no quotas meet the goals.
        baseline: The simulation of the policy as it is.
        simulate: Simulates quotas and pool sizes. A policy that rejects more workloads is not a solution.
        is_valid: Whether quotas and pool sizes are a policy without errors.
        max_runs: Maximum number of simulations, including the first.
        width: Number of simulations that are chosen at a time.
        draw: Draws the random points.
    """

    goals: tuple[Goal, ...]
    quotas: SearchedQuotas
    pools: tuple[SearchedPool, ...]
    baseline: Summary
    simulate: Simulate
    is_valid: Callable[[Vector], bool]
    max_runs: int
    width: int
    draw: Draw


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What was found: the quotas, the goals under them, every simulation in order, and why the search was stopped, if it was."""

    found: Found
    goals: tuple[GoalResult, ...]
    runs: tuple[Run, ...]
    stopped: str = ""


def advise_quotas(inputs: SearchInputs) -> SearchOutcome:
    """Search quotas, and if none meet the goals, quotas and pool sizes, for a change that cannot be reduced."""
    baseline = inputs.baseline
    problem = _with_pools(inputs.quotas.problem, inputs.pools, grow=False)
    present = problem.present
    values = {present: tuple(value_of(goal, baseline) for goal in inputs.goals)}

    def evaluate(batch: Sequence[Vector], *, to_end: bool) -> list[Excesses | None]:
        wanted = [vector for vector in batch if vector not in values]
        ended_early: dict[Vector, EndedEarly] = {}
        for vector, result in zip(wanted, inputs.simulate(wanted, to_end=to_end) if wanted else (), strict=True):
            if isinstance(result, EndedEarly):
                ended_early[vector] = result
            # A workload that is rejected does not wait.
            elif result is not None and result.outcomes.get(REFUSED, 0) <= baseline.outcomes.get(REFUSED, 0):
                values[vector] = tuple(value_of(goal, result) for goal in inputs.goals)
        return [
            _excesses(inputs.goals, values[vector])
            if vector in values
            else _missed(len(inputs.goals), ended_early[vector].missed)
            if vector in ended_early
            else None
            for vector in batch
        ]

    may_grow = any(pool.most > pool.present for pool in inputs.pools)
    max_runs = inputs.max_runs // 2 if may_grow else inputs.max_runs
    search = Search(problem, evaluate, inputs.is_valid, max_runs, inputs.width)
    stopped = ""
    try:
        found = find(search, inputs.draw)
        if may_grow and not found.is_met:
            problem = _with_pools(inputs.quotas.problem, inputs.pools, grow=True)
            search = replace(search, problem=problem, max_runs=inputs.max_runs)
            found = find(search, inputs.draw)
    except SearchStoppedError as why:
        stopped = str(why)
        best = search.best()
        found = Found(best, is_met=search.meets(best))
    results = tuple(_result(number, goal, found, values, present) for number, goal in enumerate(inputs.goals))
    return SearchOutcome(
        found, results, tuple(Run(vector, values.get(vector)) for vector in search.evaluated()), stopped
    )


def _with_pools(problem: Problem, pools: Sequence[SearchedPool], *, grow: bool) -> Problem:
    """Return a problem with the sizes of pools behind the quotas; every goal may be helped by a pool that may grow."""
    variables = tuple(
        Variable(pool.present, pool.present, pool.most if grow else pool.present, weight=pool.n_gpus, is_capacity=True)
        for pool in pools
    )
    added = tuple(range(len(problem.variables), len(problem.variables) + len(pools))) if grow else ()
    return replace(
        problem,
        variables=problem.variables + variables,
        helpful=tuple(helpful + added for helpful in problem.helpful),
    )


def _excesses(goals: Sequence[Goal], values: Sequence[float]) -> Excesses:
    return tuple(goal.excess(value) for goal, value in zip(goals, values, strict=True))


def _missed(n_goals: int, missed: Sequence[int]) -> Excesses:
    return tuple(math.inf if number in missed else None for number in range(n_goals))


def _result(
    number: int, goal: Goal, found: Found, values: Mapping[Vector, Sequence[float]], present: Vector
) -> GoalResult:
    at_best = min(each[number] for each in values.values()) if number in found.unattained else None
    return GoalResult(
        goal,
        values[present][number],
        values[found.vector][number],
        at_best,
        found.costs[number] if found.costs else None,
    )

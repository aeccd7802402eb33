"""The search for quotas and pool sizes that meet goals, with the simulations behind it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

_PRECISION_AFTER_SAMPLE = 16
"""Parts of the range of a goal's quotas that are told apart with a load that is large enough for a sample."""


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
        ...


@dataclass(frozen=True, slots=True)
class SearchInputs:
    """What is searched, and how.

    Attributes:
        goals: The goals.
        quotas: The quotas that may change.
        pools: The pools that may grow if no quotas meet the goals.
        baseline: The simulation of the policy as it is.
        simulate: Simulates quotas and pool sizes. A policy that rejects more workloads is not a solution.
        sample: Simulates them with a sample of the load, on which quotas are chosen first; None without one.
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
    sample: Simulate | None
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
    problem = _with_pools(inputs.quotas.problem, inputs.pools, grow=False)
    whole, sampled = (
        _Values(inputs.goals, simulate) for simulate in (inputs.simulate, inputs.sample or inputs.simulate)
    )
    whole.add(problem.present, inputs.baseline)
    may_grow = any(pool.most > pool.present for pool in inputs.pools)
    max_runs = inputs.max_runs // 2 if may_grow else inputs.max_runs
    search = Search(problem, whole.evaluate, inputs.is_valid, max_runs, inputs.width)
    on_sample = Search(problem, sampled.evaluate, inputs.is_valid, max_runs, inputs.width)
    search.run([problem.present])
    stopped = ""
    try:
        if inputs.sample is None or search.meets(problem.present):
            found = find(search, inputs.draw)
        else:
            first = _find_on_sample(on_sample, inputs.draw)
            search.max_runs -= on_sample.n_runs
            hint = None if first is None else first.vector
            found = find(search, inputs.draw, hint=hint, precision=_PRECISION_AFTER_SAMPLE)
            if first is not None and found.vector == hint:
                found = replace(found, costs=first.costs)
        if may_grow and not found.is_met:
            problem = _with_pools(inputs.quotas.problem, inputs.pools, grow=True)
            search = replace(search, problem=problem, max_runs=inputs.max_runs)
            found = find(search, inputs.draw)
    except SearchStoppedError as why:
        stopped = str(why)
        best = search.best()
        found = Found(best, is_met=search.meets(best))
    results = tuple(
        _result(number, goal, found, whole.values, problem.present) for number, goal in enumerate(inputs.goals)
    )
    runs = [Run(vector, sampled.values.get(vector), is_sample=True) for vector in on_sample.evaluated()]
    runs[:0] = [Run(problem.present, whole.values[problem.present])]
    runs += [Run(vector, whole.values.get(vector)) for vector in search.evaluated() if vector != problem.present]
    return SearchOutcome(found, results, tuple(runs), stopped)


def _find_on_sample(search: Search, draw: Draw) -> Found | None:
    """Return quotas that meet the goals on a sample; None without any, or if the present ones do, unlike on the whole load."""
    present = search.problem.present
    search.run([present])
    if present not in search.runs or search.meets(present):
        return None
    found = find(search, draw)
    return found if found.is_met else None


@dataclass(slots=True)
class _Values:
    """The values of goals in the simulations of a load that ran to their end."""

    goals: Sequence[Goal]
    simulate: Simulate
    values: dict[Vector, tuple[float, ...]] = field(default_factory=dict)
    _n_refused: int = 0

    def add(self, vector: Vector, summary: Summary) -> None:
        """Add a simulation, if it does not reject more workloads than the first."""
        n_refused = summary.outcomes.get(REFUSED, 0)
        if not self.values:
            self._n_refused = n_refused
        # A workload that is rejected does not wait.
        if n_refused <= self._n_refused:
            self.values[vector] = tuple(value_of(goal, summary) for goal in self.goals)

    def evaluate(self, batch: Sequence[Vector], *, to_end: bool) -> list[Excesses | None]:
        """Return by how much vectors miss the goals; None for those that are not valid."""
        wanted = [vector for vector in batch if vector not in self.values]
        missed: dict[Vector, Excesses] = {}
        for vector, result in zip(wanted, self.simulate(wanted, to_end=to_end) if wanted else (), strict=True):
            if isinstance(result, EndedEarly):
                missed[vector] = _missed(len(self.goals), result.missed)
            elif result is not None:
                self.add(vector, result)
        return [
            _excesses(self.goals, self.values[vector]) if vector in self.values else missed.get(vector)
            for vector in batch
        ]


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

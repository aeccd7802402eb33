"""The search for quotas and pool sizes that meet goals, with the simulations behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from apportion_review.advise.goals import Goal, value_of
from apportion_review.advise.pools import SearchedPool
from apportion_review.advise.quotas import SearchedQuotas
from apportion_review.advise.records import GoalResult, Run
from apportion_review.advise.search import Draw, Excesses, Found, Problem, Search, Variable, Vector, find
from apportion_runtime.sim.controllers.workloads import REFUSED
from apportion_runtime.sim.report.summary import Summary


@dataclass(frozen=True, slots=True)
class SearchInputs:
    """What is searched, and how.

    Attributes:
        goals: The goals.
        quotas: The quotas that may change.
        pools: The pools that may grow if no quotas meet the goals.
        baseline: The simulation of the policy as it is.
        simulate: Simulates a batch of quotas and pool sizes; None for a policy with errors. One that rejects more workloads is not a solution.
        max_runs: Maximum number of simulations, including the first.
        width: Number of simulations that are chosen at a time.
        draw: Draws the random points.
    """

    goals: tuple[Goal, ...]
    quotas: SearchedQuotas
    pools: tuple[SearchedPool, ...]
    baseline: Summary
    simulate: Callable[[Sequence[Vector]], Sequence[Summary | None]]
    max_runs: int
    width: int
    draw: Draw


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What was found: the quotas, the goals under them, and every simulation in order."""

    found: Found
    goals: tuple[GoalResult, ...]
    runs: tuple[Run, ...]


def advise_quotas(inputs: SearchInputs) -> SearchOutcome:
    """Search quotas, and if none meet the goals, quotas and pool sizes, for a change that cannot be reduced."""
    baseline = inputs.baseline
    problem = _with_pools(inputs.quotas.problem, inputs.pools, grow=False)
    present = problem.present
    values = {present: tuple(value_of(goal, baseline) for goal in inputs.goals)}

    def evaluate(batch: Sequence[Vector]) -> list[Excesses | None]:
        wanted = [vector for vector in batch if vector not in values]
        for vector, summary in zip(wanted, inputs.simulate(wanted), strict=True):
            # A workload that is rejected does not wait.
            if summary is not None and summary.outcomes.get(REFUSED, 0) <= baseline.outcomes.get(REFUSED, 0):
                values[vector] = tuple(value_of(goal, summary) for goal in inputs.goals)
        return [_excesses(inputs.goals, values[vector]) if vector in values else None for vector in batch]

    may_grow = any(pool.most > pool.present for pool in inputs.pools)
    search = Search(problem, evaluate, inputs.max_runs // 2 if may_grow else inputs.max_runs, inputs.width)
    found = find(search, inputs.draw)
    if may_grow and not found.is_met:
        problem = _with_pools(inputs.quotas.problem, inputs.pools, grow=True)
        search = replace(search, problem=problem, max_runs=inputs.max_runs)
        found = find(search, inputs.draw)
    results = tuple(_result(number, goal, found, values, present) for number, goal in enumerate(inputs.goals))
    return SearchOutcome(found, results, tuple(Run(vector, values[vector]) for vector in search.runs))


def _with_pools(problem: Problem, pools: Sequence[SearchedPool], *, grow: bool) -> Problem:
    """Return a problem with the sizes of pools behind the quotas; every goal may be helped by a pool that may grow."""
    variables = tuple(
        Variable(pool.present, pool.present, pool.most if grow else pool.present, weight=pool.n_gpus) for pool in pools
    )
    added = tuple(range(len(problem.variables), len(problem.variables) + len(pools))) if grow else ()
    return replace(
        problem,
        variables=problem.variables + variables,
        helpful=tuple(helpful + added for helpful in problem.helpful),
    )


def _excesses(goals: Sequence[Goal], values: Sequence[float]) -> Excesses:
    return tuple(goal.excess(value) for goal, value in zip(goals, values, strict=True))


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

"""Moves of units between quotas, for goals that brackets do not meet: other queues, partial moves, random quotas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from apportion_review.advise.brackets import taken
from apportion_review.advise.problem import Draw, Problem, Search, Vector

_SMALLEST_STEP = 1 / 64


def approach(search: Search) -> None:
    """Move from the best vector towards missed goals, with smaller steps when none helps."""
    step = 1.0
    while step >= _SMALLEST_STEP and not search.is_exhausted:
        at = search.best()
        missed = missed_goals(search, at)
        if not missed:
            return
        search.run(_moves(search.problem, at, missed, step))
        if search.best() == at:
            step /= 2


def approach_at_random(search: Search, draw: Draw) -> None:
    """Continue from random vectors until the goals are met, or the limit is reached."""
    while not search.is_exhausted and not search.meets(search.best()):
        before = search.n_runs
        search.run([_random(search.problem, draw) for _ in range(4 * search.width)])
        approach(search)
        if search.n_runs == before:
            break


def missed_goals(search: Search, vector: Vector) -> list[int]:
    """Return the goals that a completely evaluated vector misses."""
    return [goal for goal, excess in enumerate(search.runs[vector]) if excess]


def changed(at: Vector, changes: Mapping[int, int]) -> Vector:
    """Return a vector with some other values."""
    return tuple(changes.get(index, value) for index, value in enumerate(at))


def _moves(problem: Problem, at: Vector, missed: Sequence[int], step: float) -> Iterator[Vector]:
    for goal in missed:
        for index in problem.helpful[goal]:
            yield from _raised(problem, at, index, step)
    if len(missed) > 1:
        together = at
        for goal in missed:
            for index in problem.helpful[goal]:
                together = next(iter(_raised(problem, together, index, step)), together)
        yield together


def _raised(problem: Problem, at: Vector, index: int, step: float) -> Iterator[Vector]:
    """Yield vectors with a higher value: with units of all rivals, with free units, with units of each rival alone."""
    variable = problem.variables[index]
    wanted = math.ceil(step * (variable.most - at[index]))
    if wanted <= 0:
        return
    spare = {rival: at[rival] - problem.variables[rival].least for rival in variable.rivals}
    available = sum(spare.values())
    if available:
        yield _moved(at, index, min(wanted, available), spare)
    yield changed(at, {index: at[index] + wanted})
    if len(spare) > 1:
        for rival, held in spare.items():
            if held:
                yield _moved(at, index, min(wanted, held), {rival: held})


def _moved(at: Vector, index: int, amount: int, spare: Mapping[int, int]) -> Vector:
    return taken(changed(at, {index: at[index] + amount}), amount, spare)


def _random(problem: Problem, draw: Draw) -> Vector:
    """Return a vector whose units are those of the present one, distributed at random among rivals."""
    at = list(problem.present)
    for index, variable in enumerate(problem.variables):
        if not variable.rivals:
            at[index] = variable.present + draw(variable.most - variable.present + 1)
            continue
        rival = variable.rivals[draw(len(variable.rivals))]
        movable = min(variable.most - at[index], at[rival] - problem.variables[rival].least)
        if movable > 0:
            amount = draw(movable + 1)
            at[index] += amount
            at[rival] -= amount
    return tuple(at)

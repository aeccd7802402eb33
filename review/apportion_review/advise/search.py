"""Search for the smallest change of some integers under which every goal is met, in few evaluations.

An evaluation is expensive, so the search tries extremes first: if all units go to the quotas that a goal depends on and
the goal is still missed, no quota meets it alone. Then it moves units in large steps towards missed goals, with smaller
steps when none helps, and from random points when the steps are used up. A change that meets all goals is reduced by
bisection: as a whole, by pairs of a raised and a lowered quota, and each quota by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

Vector = tuple[int, ...]
Excesses = tuple[float, ...]
"""By how much each goal is missed, 0 if it is met."""
Evaluate = Callable[[Sequence[Vector]], Sequence[Excesses | None]]
"""Evaluates vectors; None for one that is not a valid policy, which is not counted as a run."""

Draw = Callable[[int], int]
"""Draws an integer from 0 to below its argument."""

_SMALLEST_STEP = 1 / 64


@dataclass(frozen=True, slots=True)
class Variable:
    """An integer to choose.

    Attributes:
        present: Its value in the policy.
        least: Minimum.
        most: Maximum.
        rivals: Indices of the variables from which its units can be taken; empty if it needs no units of others.
        weight: The cost of one unit.
    """

    present: int
    least: int
    most: int
    rivals: tuple[int, ...] = ()
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Problem:
    """What is searched.

    Attributes:
        variables: The integers.
        helpful: For each goal, the variables whose increase may help it.
        is_monotonic: For each goal, whether the extreme of these variables is the best that can be done for it.
    """

    variables: tuple[Variable, ...]
    helpful: tuple[tuple[int, ...], ...]
    is_monotonic: tuple[bool, ...]

    @property
    def present(self) -> Vector:
        """The values in the policy."""
        return tuple(variable.present for variable in self.variables)

    def cost(self, vector: Vector) -> int:
        """Return the sum of all changes, each by the weight of its variable."""
        pairs = zip(vector, self.variables, strict=True)
        return sum(variable.weight * abs(value - variable.present) for value, variable in pairs)


@dataclass(slots=True)
class Search:
    """The evaluations of a search, in order, and its limit.

    Attributes:
        problem: What is searched.
        evaluate: The evaluation.
        max_runs: Maximum number of evaluations of valid vectors.
        width: Number of vectors to evaluate at a time. The result does not depend on how many run in parallel.
        runs: Valid evaluated vectors, in order, with the excesses of the goals.
    """

    problem: Problem
    evaluate: Evaluate
    max_runs: int
    width: int
    runs: dict[Vector, Excesses] = field(default_factory=dict)
    _invalid: set[Vector] = field(default_factory=set)

    @property
    def is_exhausted(self) -> bool:
        """Whether the maximum number of evaluations is reached."""
        return len(self.runs) >= self.max_runs

    def run(self, vectors: Iterable[Vector]) -> None:
        """Evaluate vectors that have not been evaluated, as far as the limit allows."""
        wanted = [v for v in dict.fromkeys(vectors) if v not in self.runs and v not in self._invalid]
        for begin in range(0, len(wanted), self.width):
            batch = wanted[begin : begin + min(self.width, self.max_runs - len(self.runs))]
            for vector, excesses in zip(batch, self.evaluate(batch) if batch else (), strict=True):
                if excesses is None:
                    self._invalid.add(vector)
                else:
                    self.runs[vector] = excesses

    def meets(self, vector: Vector, goals: Sequence[int] | None = None) -> bool:
        """Return whether a vector is valid and meets goals, all by default; False if it cannot be evaluated."""
        self.run([vector])
        excesses = self.runs.get(vector)
        return excesses is not None and not any(
            excess for goal, excess in enumerate(excesses) if goals is None or goal in goals
        )

    def best(self) -> Vector:
        """Return the vector that misses the goals least, of those the one with the smallest change."""
        return min(self.runs, key=self._rank)

    def _rank(self, vector: Vector) -> tuple[float, int, Vector]:
        return sum(self.runs[vector]), self.problem.cost(vector), vector


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search.

    Attributes:
        vector: The smallest change found that meets all goals; otherwise the one that misses them least.
        is_met: Whether it meets all goals.
        unattained: Goals that are missed even if every unit is given to them.
        costs: For each goal, the sum of changes that meets this goal alone; empty if not all are met.
    """

    vector: Vector
    is_met: bool
    unattained: tuple[int, ...] = ()
    costs: tuple[int, ...] = ()


def find(search: Search, draw: Draw) -> Found:
    """Search until all goals are met with a change that cannot be reduced, or the limit is reached.

    The present values must be valid.
    """
    problem = search.problem
    search.run([problem.present])
    missed = _missed(search, problem.present)
    if not missed:
        return Found(problem.present, is_met=True, costs=(0,) * len(problem.helpful))
    extremes = {goal: _extreme(problem, [goal]) for goal in missed}
    search.run([*extremes.values(), _extreme(problem, missed)])
    # An extreme that is not a valid policy says nothing.
    unattained = tuple(
        goal
        for goal, vector in extremes.items()
        if problem.is_monotonic[goal] and vector in search.runs and search.runs[vector][goal] > 0
    )
    if unattained:
        return Found(search.best(), is_met=False, unattained=unattained)
    _approach(search)
    while not search.is_exhausted and not search.meets(search.best()):
        before = len(search.runs)
        search.run([_random(problem, draw) for _ in range(4 * search.width)])
        _approach(search)
        if len(search.runs) == before:
            break
    best = search.best()
    if not search.meets(best):
        return Found(best, is_met=False)
    reduced = _reduced(search, best)
    return Found(reduced, is_met=True, costs=_costs(search, reduced))


def _missed(search: Search, vector: Vector) -> list[int]:
    return [goal for goal, excess in enumerate(search.runs[vector]) if excess]


def _approach(search: Search) -> None:
    """Move from the best vector towards missed goals, with smaller steps when none helps."""
    step = 1.0
    while step >= _SMALLEST_STEP and not search.is_exhausted:
        at = search.best()
        missed = _missed(search, at)
        if not missed:
            return
        search.run(_moves(search.problem, at, missed, step))
        if search.best() == at:
            step /= 2


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
        yield _taken(at, index, min(wanted, available), spare)
    yield _with(at, {index: at[index] + wanted})
    if len(spare) > 1:
        for rival, held in spare.items():
            if held:
                yield _taken(at, index, min(wanted, held), {rival: held})


def _taken(at: Vector, index: int, amount: int, spare: Mapping[int, int]) -> Vector:
    """Return a vector with an amount moved to a variable, from others in proportion to what they can spare."""
    total = sum(spare.values())
    changes, left = {index: at[index] + amount}, amount
    for rival, held in sorted(spare.items(), key=lambda item: (-item[1], item[0])):
        part = min(held, left, math.ceil(amount * held / total))
        changes[rival] = at[rival] - part
        left -= part
    return _with(at, changes)


def _with(at: Vector, changes: Mapping[int, int]) -> Vector:
    return tuple(changes.get(index, value) for index, value in enumerate(at))


def _extreme(problem: Problem, goals: Sequence[int]) -> Vector:
    """Return the vector with as much as possible for some goals."""
    at = problem.present
    raised = {index for goal in goals for index in problem.helpful[goal]}
    for index in sorted(raised):
        variable = problem.variables[index]
        others = {r: at[r] - problem.variables[r].least for r in variable.rivals if r not in raised}
        wanted = variable.most - at[index]
        if others and sum(others.values()):
            at = _taken(at, index, min(wanted, sum(others.values())), others)
        elif not variable.rivals:
            at = _with(at, {index: variable.most})
    return at


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


def _reduced(search: Search, vector: Vector) -> Vector:
    """Return a vector with a change that cannot be reduced in one of the tried ways."""
    present = search.problem.present
    vector = _bisected(search, vector, lambda part: _between(present, vector, part))
    changed = sorted(
        (index for index in range(len(present)) if vector[index] != present[index]),
        key=lambda index: -search.problem.variables[index].weight * abs(vector[index] - present[index]),
    )
    for raised in changed:
        for lowered in changed:
            if vector[raised] > present[raised] and vector[lowered] < present[lowered]:
                vector = _without_pair(search, vector, raised, lowered)
    for index in changed:
        vector = _without(search, vector, index)
    return vector


def _between(present: Vector, vector: Vector, part: int, whole: int = 1024) -> Vector:
    # Units are never given before they are taken, so that the sum stays within the capacity.
    return tuple(p + math.floor((v - p) * part / whole) for p, v in zip(present, vector, strict=True))


def _bisected(
    search: Search,
    vector: Vector,
    at: Callable[[int], Vector],
    whole: int = 1024,
    goals: Sequence[int] | None = None,
) -> Vector:
    """Return the vector of the smallest part found that meets some goals, all by default; `at(whole)` does."""
    low, high = 0, whole
    while high - low > 1:
        middle = (low + high) // 2
        tried = at(middle)
        if tried == at(high):
            high = middle
        elif tried == at(low):
            low = middle
        elif search.meets(tried, goals):
            high = middle
        else:
            low = middle
    return at(high) if high < whole else vector


def _without_pair(search: Search, vector: Vector, raised: int, lowered: int) -> Vector:
    present = search.problem.present
    amount = min(vector[raised] - present[raised], present[lowered] - vector[lowered])

    def kept(part: int) -> Vector:
        back = amount - part
        return _with(vector, {raised: vector[raised] - back, lowered: vector[lowered] + back})

    return _bisected(search, vector, kept, amount)


def _without(search: Search, vector: Vector, index: int) -> Vector:
    change = vector[index] - search.problem.present[index]
    if not change:
        return vector
    sign = 1 if change > 0 else -1
    reset = _with(vector, {index: search.problem.present[index]})
    if search.meets(reset):
        return reset
    return _bisected(
        search, vector, lambda part: _with(vector, {index: vector[index] - sign * (abs(change) - part)}), abs(change)
    )


def _costs(search: Search, vector: Vector) -> tuple[int, ...]:
    """Return for each goal the cost of the smallest part of a change that meets this goal alone."""
    problem = search.problem
    costs: list[int] = []
    for goal in range(len(problem.helpful)):
        if search.meets(problem.present, [goal]):
            costs.append(0)
            continue
        alone = _bisected(search, vector, lambda part: _between(problem.present, vector, part), goals=[goal])
        costs.append(problem.cost(alone))
    return tuple(costs)

"""Search for the smallest change of some integers under which every goal is met, in few evaluations.

An evaluation is expensive, so the search tries extremes first: if all units go to the quotas that a goal depends on and
the goal is still missed, no quota meets it alone. Then it narrows the `brackets` of all goals together. If what they
give misses a goal, it moves units in large steps towards missed goals, with smaller steps when none helps, and from
random points when the steps are used up (`moves`). `reduction` then removes the parts of the change that no goal needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from apportion_review.advise.brackets import PRECISION, Bracket, brackets_of, compose, lowest, narrow
from apportion_review.advise.moves import approach, approach_at_random, changed, missed_goals
from apportion_review.advise.problem import Draw, Problem, Search, Vector, first_index
from apportion_review.advise.reduction import reduced

_MORE_RUNS = 16
"""Further evaluations after it seems that the goals cannot be met together, as goals may depend on other quotas, too."""
_STEPS = 64
_MORE = 8


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search.

    Attributes:
        vector: The smallest change found that meets all goals; otherwise the one that misses them least.
        is_met: Whether it meets all goals.
        unattained: Goals that are missed even if every unit is given to them.
        required: If goals exclude each other, for each of them the units of its quotas that miss it; otherwise empty.
        costs: For each goal, the sum of changes that meets this goal alone; empty if not all are met.
    """

    vector: Vector
    is_met: bool
    unattained: tuple[int, ...] = ()
    required: tuple[tuple[int, int], ...] = ()
    costs: tuple[int, ...] = ()


def find(search: Search, draw: Draw, *, hint: Vector | None = None, precision: int = PRECISION) -> Found:
    """Search until all goals are met with a change that cannot be reduced, or the limit is reached.

    Args:
        search: The problem, whose present values must be valid.
        draw: Draws random vectors.
        hint: A vector that probably meets all goals; if it does, or a somewhat larger change, nothing else is evaluated.
        precision: The parts of the range of a goal's quotas that are told apart.
    """
    problem = search.problem
    search.run([problem.present])
    missed = missed_goals(search, problem.present)
    if not missed:
        return Found(problem.present, is_met=True, costs=(0,) * len(problem.helpful))
    if hint is not None:
        search.run([hint, *_somewhat_more(search, hint, missed)])
        if search.meets(search.best()):
            return Found(search.best(), is_met=True, costs=_costs(search, search.best()))
    unattained = _unattained(search, missed)
    if unattained:
        return Found(search.best(), is_met=False, unattained=unattained)
    if problem.can_grow:
        search.run([_with_most_machines(problem)])
        brackets: tuple[Bracket, ...] = ()
    else:
        brackets = tuple(brackets_of(problem, missed, precision))
    own = {bracket.goal for bracket in brackets} & set(missed)
    is_exclusive = bool(own) and not narrow(search, brackets, own)
    if is_exclusive:
        search.max_runs = min(search.max_runs, search.n_runs + _MORE_RUNS)
    elif len(own) > 1:
        _run_alone(search, brackets, own)
    if not search.meets(search.best()):
        approach(search)
        approach_at_random(search, draw)
    best = search.best()
    if not search.meets(best):
        required = tuple((each.goal, _units(problem, each)) for each in brackets if each.goal in own)
        return Found(best, is_met=False, required=required if is_exclusive else ())
    best = reduced(search, best, in_pairs=best != lowest(search, brackets, own))
    return Found(best, is_met=True, costs=_costs(search, best))


def _somewhat_more(search: Search, hint: Vector, missed: Sequence[int]) -> Iterator[Vector]:
    """Yield a vector with more for the missed goals: an eighth of what remains."""
    brackets = brackets_of(search.problem, missed)
    own = [bracket for bracket in brackets if bracket.goal in missed]
    for bracket in own:
        bracket.observe(search.problem, hint, 0.0)
    levels = {each.goal: each.holds + -(-(each.top - each.holds) // _MORE) for each in own}
    more = compose(search, brackets, levels)
    if more is not None:
        yield more


def _with_most_machines(problem: Problem) -> Vector:
    return tuple(variable.most if variable.is_capacity else variable.present for variable in problem.variables)


def _unattained(search: Search, missed: Sequence[int]) -> tuple[int, ...]:
    """Return the goals that are missed although their quotas have every unit; goals that are met together are not tried."""
    problem = search.problem
    together = extreme(search, missed)
    search.run([together])
    at_best: dict[Vector, Sequence[int]] = {together: missed}
    if len(missed) > 1:
        excesses = search.runs.get(together)
        alone: dict[Vector, Sequence[int]] = {
            extreme(search, [goal]): [goal] for goal in missed if excesses is None or excesses[goal]
        }
        search.run(alone)
        at_best = alone
    # An extreme that is not a valid policy says nothing.
    return tuple(
        goal
        for vector, goals in at_best.items()
        for goal in goals
        if problem.is_monotonic[goal] and vector in search.runs and search.runs[vector][goal] > 0
    )


def extreme(search: Search, goals: Sequence[int]) -> Vector:
    """Return the vector with as much as possible for some goals, and as little as possible for the others."""
    problem = search.problem
    raised = {index for goal in goals for index in problem.helpful[goal]}
    rivals = {rival for index in raised for rival in problem.variables[index].rivals} - raised
    at = changed(problem.present, {index: problem.variables[index].least for index in rivals})

    def higher(part: int) -> Vector:
        values = {index: problem.variables[index] for index in raised}
        return changed(at, {i: v.present + (v.most - v.present) * part // _STEPS for i, v in values.items()})

    parts = range(1, _STEPS + 1)
    part = first_index(parts, lambda part: not search.is_valid(higher(part)))
    return _filled(search, higher(part), sorted(raised))


def _filled(search: Search, at: Vector, raised: Sequence[int]) -> Vector:
    """Return a valid vector with the highest values of some variables, one after the other."""
    for index in raised:
        at = _with_most_of(search, at, index)
    return at


def _with_most_of(search: Search, at: Vector, index: int) -> Vector:
    values = range(at[index] + 1, search.problem.variables[index].most + 1)
    n_more = first_index(values, lambda value: not search.is_valid(changed(at, {index: value})))
    return changed(at, {index: at[index] + n_more})


def _units(problem: Problem, bracket: Bracket) -> int:
    return sum(bracket.values(problem, bracket.misses).values())


def _run_alone(search: Search, brackets: Sequence[Bracket], own: Collection[int]) -> None:
    """Evaluate what each goal needs by itself, which shows its cost, and may be enough for the others as well."""
    alone = (compose(search, brackets, {each.goal: each.holds}) for each in brackets if each.goal in own)
    search.run([vector for vector in alone if vector is not None])


def _costs(search: Search, vector: Vector) -> tuple[int, ...]:
    """Return for each goal the cost of the smallest evaluated part of a change that meets this goal."""
    problem = search.problem
    parts = {part: excesses for part, excesses in search.evaluated().items() if problem.is_part(part, vector)}
    return tuple(
        min(problem.cost(part) for part, excesses in parts.items() if excesses[goal] == 0)
        for goal in range(len(problem.helpful))
    )

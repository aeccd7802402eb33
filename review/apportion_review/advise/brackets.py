"""Brackets of goals: the highest level of a goal's quotas that misses it, and the lowest that meets it.

A level is one number for all quotas that help a goal: 0 is the present policy, positive levels raise all of them in
proportion to what each can gain, negative ones lower them. A run narrows the brackets of all goals at once, so the
number of runs grows with the logarithm of the quotas and hardly with the number of goals. This assumes that a goal
depends on its own quotas only, and that more of them never harm it; what is found is therefore simulated as a whole,
and `search` goes on without brackets if it misses a goal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import ge, gt

from apportion_review.advise.problem import Problem, Search, Vector, first_index

PRECISION = 128
"""Parts of the range of a goal's quotas that are told apart, unless the goals together need a higher precision."""
_PARTS = (2 / 3, 1 / 3, 1 / 6, 1 / 12, 1 / 24, 1 / 48, 1 / 96)
"""Parts of the brackets at which all are divided: the first that leave the other goals what they need."""
_PARTS_IN_TURN = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 0)
"""The same for one goal after the other."""
_AT_A_TIME = 2
"""Vectors that are chosen at a time. More would end sooner on more processors, but need more runs."""


@dataclass(slots=True)
class Bracket:
    """What is known about a goal.

    Attributes:
        goal: Its index.
        variables: The variables that help it.
        bottom: The lowest level, at most 0.
        top: The highest level, at least 0.
        misses: The highest level that is known to miss the goal; below `bottom` if none is.
        holds: The lowest level that is known to meet it; above `top` if none is.
        precision: Number of parts of the range that are told apart, if it is larger.
    """

    goal: int
    variables: tuple[int, ...]
    bottom: int
    top: int
    misses: int
    holds: int
    precision: int = PRECISION

    @property
    def is_open(self) -> bool:
        """Whether it can be narrowed."""
        return self.holds - self.misses > max(1, (self.top - self.bottom) // self.precision)

    def values(self, problem: Problem, level: int) -> dict[int, int]:
        """Return the values of its variables at a level."""
        found: dict[int, int] = {}
        level = min(level, self.top)
        for index in self.variables:
            variable = problem.variables[index]
            if level >= 0:
                found[index] = variable.present + -(-(variable.most - variable.present) * level // max(1, self.top))
            else:
                found[index] = variable.present - (variable.present - variable.least) * level // self.bottom
        return found

    def observe(self, problem: Problem, vector: Vector, excess: float | None) -> None:
        """Narrow the bracket by an evaluated vector."""
        if excess is None:
            return
        levels = range(self.bottom, self.top + 1)

        def n_levels(is_beyond: Callable[[int, int], bool], i: int) -> int:
            """Return the number of levels before those whose value of a variable is beyond that of the vector."""
            return first_index(levels, lambda level: is_beyond(self.values(problem, level)[i], vector[i]))

        # A level that is nowhere below the vector meets the goal as well, and one that is nowhere above misses it as well.
        if excess == 0:
            number = max(n_levels(ge, i) for i in self.variables)
            if number < len(levels):
                self.holds = min(self.holds, levels[number])
        elif number := min(n_levels(gt, i) for i in self.variables):
            self.misses = max(self.misses, levels[number - 1])


def brackets_of(problem: Problem, missed: Collection[int], precision: int = PRECISION) -> list[Bracket]:
    """Return the brackets of the goals whose quotas can be raised at the expense of others, before any evaluation."""
    divided = {index for index, variable in enumerate(problem.variables) if variable.rivals}
    found: list[Bracket] = []
    for goal, helpful in enumerate(problem.helpful):
        if not helpful or (divided and divided <= set(helpful)):
            continue
        variables = [problem.variables[index] for index in helpful]
        top = max(variable.most - variable.present for variable in variables)
        bottom = -max(variable.present - variable.least for variable in variables)
        misses, holds = (0, top + 1) if goal in missed else (bottom - 1, 0)
        found.append(Bracket(goal, helpful, bottom, top, misses, holds, precision))
    return found


def narrow(search: Search, brackets: Sequence[Bracket], missed: Collection[int]) -> bool:
    """Evaluate vectors until the lowest levels that meet the missed goals are known, and are evaluated together.

    Returns False if it follows that these goals cannot be met together with the others.
    """
    own = [bracket for bracket in brackets if bracket.goal in missed]
    while not search.is_exhausted:
        for vector, excesses in search.evaluated().items():
            for bracket in brackets:
                bracket.observe(search.problem, vector, excesses[bracket.goal])
        n_runs = search.n_runs
        if compose(search, brackets, {bracket.goal: bracket.misses + 1 for bracket in own}) is None:
            return False
        probes: Collection[Vector] = ()
        if any(bracket.is_open for bracket in own):
            probes = _probes(search, brackets, own)
        elif (together := lowest(search, brackets, missed)) is not None:
            probes = (together,)
        elif any(bracket.holds - bracket.misses > 1 for bracket in own):
            for bracket in own:
                bracket.precision *= 4
            continue
        # A run that ended early may have left open what is asked of it.
        for to_end in (False, True):
            if search.n_runs == n_runs:
                search.run(probes, to_end=to_end)
        if search.n_runs == n_runs:
            break
    return True


def lowest(search: Search, brackets: Sequence[Bracket], goals: Collection[int]) -> Vector | None:
    """Return the vector at which each of some goals has the lowest level that meets it; None if that is not valid."""
    return compose(search, brackets, {each.goal: each.holds for each in brackets if each.goal in goals})


def _probes(search: Search, brackets: Sequence[Bracket], own: Sequence[Bracket]) -> Collection[Vector]:
    """Return vectors that narrow the brackets of missed goals: of all if possible, otherwise of one before the other."""
    found: dict[Vector, None] = {}
    for part in _PARTS if len(own) == 1 else _PARTS[:3]:
        made = compose(search, brackets, {each.goal: _level(each, part) for each in own})
        if made is not None and len(found) < _AT_A_TIME:
            found[made] = None
    orders = (own, tuple(reversed(own)))
    for order in orders[: max(0, _AT_A_TIME - len(found))] if len(own) > 1 else ():
        levels: dict[int, int] = {}
        for bracket in order:
            tried = ({**levels, bracket.goal: _level(bracket, part)} for part in _PARTS_IN_TURN)
            levels = next((more for more in tried if compose(search, brackets, more) is not None), levels)
        made = compose(search, brackets, levels)
        if made is not None:
            found[made] = None
    return tuple(found)


def _level(bracket: Bracket, part: float) -> int:
    """Return a level within a bracket, or the level that meets the goal if it cannot be narrowed."""
    if not bracket.is_open:
        return bracket.holds
    width = bracket.holds - bracket.misses
    return bracket.misses + (min(width - 1, max(1, round(width * part))) if part else 0)


def compose(search: Search, brackets: Sequence[Bracket], levels: Mapping[int, int]) -> Vector | None:
    """Return a valid vector with levels for some goals, and as little as possible taken from others; None without one.

    Quotas without a goal are lowered first, then those of met goals: to what is known to meet them, and if that is not
    enough, to what is not known to miss them.
    """
    problem = search.problem
    at = list(problem.present)
    for bracket in brackets:
        if bracket.goal in levels:
            for index, value in bracket.values(problem, levels[bracket.goal]).items():
                at[index] = max(at[index], value)
    raised = {index for index, value in enumerate(at) if value > problem.present[index]}
    needed = sum(at[index] - problem.present[index] for index in raised if problem.variables[index].rivals)
    for floors in _floors(problem, brackets, levels):
        made = _supplied(search, tuple(at), raised, floors, needed)
        if made is not None:
            return made
    return None


def _floors(
    problem: Problem, brackets: Sequence[Bracket], levels: Mapping[int, int]
) -> Iterable[tuple[Mapping[int, int], ...]]:
    """Yield to which values variables may be lowered: those without a goal, then those of goals as well."""
    with_goal = {index for bracket in brackets for index in bracket.variables}
    divided = [index for index, variable in enumerate(problem.variables) if variable.rivals]
    without = {index: problem.variables[index].least for index in divided if index not in with_goal}
    met = [bracket for bracket in brackets if bracket.goal not in levels]
    for part in (1.0, 0.5, 0.0):
        floors: dict[int, int] = {}
        for bracket in met:
            level = bracket.misses + max(1, int((bracket.holds - bracket.misses) * part))
            for index, value in bracket.values(problem, min(0, max(bracket.bottom, level))).items():
                if index in divided:
                    floors[index] = max(floors.get(index, value), value)
        yield without, floors


def _supplied(
    search: Search, at: Vector, raised: Collection[int], floors: Iterable[Mapping[int, int]], needed: int
) -> Vector | None:
    """Return a vector for whose raised variables as little as possible is taken from others; None if it is not enough."""

    def lowered(amount: int) -> Vector:
        made = at
        for spare in floors:
            able = {index: made[index] - least for index, least in spare.items() if index not in raised}
            part = min(amount, sum(able.values()))
            made, amount = taken(made, part, able), amount - part
        return made

    most = min(
        needed, sum(at[index] - least for spare in floors for index, least in spare.items() if index not in raised)
    )
    if not search.is_valid(lowered(most)):
        return None
    amounts = range(most + 1)
    return lowered(first_index(amounts, lambda amount: search.is_valid(lowered(amount))))


def taken(at: Vector, amount: int, spare: Mapping[int, int]) -> Vector:
    """Return a vector with an amount taken from variables, in proportion to what they can spare."""
    total = sum(spare.values())
    made, left = list(at), amount
    for index, able in sorted(spare.items(), key=lambda item: (-item[1], item[0])):
        part = min(able, left, -(-amount * able // total)) if total else 0
        made[index] -= part
        left -= part
    return tuple(made)

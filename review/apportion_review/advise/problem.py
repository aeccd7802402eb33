"""The integers that a search chooses, and the evaluations that it made."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Vector = tuple[int, ...]
Excesses = tuple[float | None, ...]
"""By how much each goal is missed: 0 if it is met, infinity if it is missed by an unknown amount, None if that is unknown."""

Draw = Callable[[int], int]
"""Draws an integer from 0 to below its argument."""


def first_index(values: Sequence[int], is_wanted: Callable[[int], bool]) -> int:
    """Return the index of the first wanted value, if all after it are wanted as well; the length without one."""
    return bisect_left(values, 1, key=lambda value: int(is_wanted(value)))


class SearchStoppedError(Exception):
    """A search ends before the next evaluation: its time is over, or it was interrupted."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An integer to choose.

    Attributes:
        present: Its value in the policy.
        least: Minimum.
        most: Maximum.
        rivals: Indices of the variables from which its units can be taken; empty if it needs no units of others.
        weight: The cost of one unit.
        is_capacity: Whether its units are machines.
    """

    present: int
    least: int
    most: int
    rivals: tuple[int, ...] = ()
    weight: int = 1
    is_capacity: bool = False


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

    @property
    def can_grow(self) -> bool:
        """Whether machines can be added."""
        return any(variable.is_capacity and variable.most > variable.present for variable in self.variables)

    def cost(self, vector: Vector) -> int:
        """Return the sum of all changes, each by the weight of its variable."""
        pairs = zip(vector, self.variables, strict=True)
        return sum(variable.weight * abs(value - variable.present) for value, variable in pairs)

    def is_part(self, vector: Vector, whole: Vector) -> bool:
        """Return whether each value is the present one, that of a change, or between them."""
        pairs = zip(vector, self.present, whole, strict=True)
        return all(min(before, after) <= value <= max(before, after) for value, before, after in pairs)


class Evaluate(Protocol):
    """Evaluates vectors; None for one that is not a valid policy, which is not counted as a run.

    Unless `to_end` is true, an evaluation may end when it is certain that a goal is missed.
    """

    def __call__(self, batch: Sequence[Vector], *, to_end: bool) -> Sequence[Excesses | None]:
        """Return the results in the order of the batch."""
        ...


@dataclass(slots=True)
class Search:
    """The evaluations of a search, in order, and its limit.

    Attributes:
        problem: What is searched.
        evaluate: The evaluation.
        is_valid: Whether a vector is a valid policy.
        max_runs: Maximum number of evaluations of valid vectors.
        width: Number of vectors to evaluate at a time. The result does not depend on how many run in parallel.
        runs: Valid evaluated vectors, in order, with the excesses of the goals.
        stopped: The same for those whose evaluation ended early.
        n_runs: Number of evaluations.
    """

    problem: Problem
    evaluate: Evaluate
    is_valid: Callable[[Vector], bool]
    max_runs: int
    width: int
    runs: dict[Vector, tuple[float, ...]] = field(default_factory=dict)
    stopped: dict[Vector, Excesses] = field(default_factory=dict)
    n_runs: int = 0
    _order: dict[Vector, None] = field(default_factory=dict)
    _invalid: set[Vector] = field(default_factory=set)

    @property
    def is_exhausted(self) -> bool:
        """Whether the maximum number of evaluations is reached."""
        return self.n_runs >= self.max_runs

    def run(self, vectors: Iterable[Vector], *, to_end: bool = True) -> None:
        """Evaluate vectors that have not been evaluated, or not to the end, as far as the limit allows."""
        known = (self.runs, self._invalid) if to_end else (self.runs, self._invalid, self.stopped)
        wanted = [vector for vector in dict.fromkeys(vectors) if not any(vector in each for each in known)]
        for begin in range(0, len(wanted), self.width):
            batch = wanted[begin : begin + min(self.width, self.max_runs - self.n_runs)]
            for vector, excesses in zip(batch, self.evaluate(batch, to_end=to_end) if batch else (), strict=True):
                self._keep(vector, excesses)

    def _keep(self, vector: Vector, excesses: Excesses | None) -> None:
        if excesses is None:
            self._invalid.add(vector)
            return
        self.n_runs += 1
        self._order[vector] = None
        self.stopped.pop(vector, None)
        complete = tuple(excess for excess in excesses if excess is not None and excess != math.inf)
        if len(complete) == len(excesses):
            self.runs[vector] = complete
        else:
            self.stopped[vector] = excesses

    def excesses(self, vector: Vector) -> Excesses | None:
        """Return by how much an evaluated vector misses each goal; None if it was not evaluated, or is invalid."""
        return self.runs.get(vector) or self.stopped.get(vector)

    def evaluated(self) -> Mapping[Vector, Excesses]:
        """Return every evaluated vector, in order."""
        return {vector: self.runs[vector] if vector in self.runs else self.stopped[vector] for vector in self._order}

    def meets(self, vector: Vector, goals: Sequence[int] | None = None) -> bool:
        """Return whether a vector is valid and meets goals, all by default; False if it cannot be evaluated."""
        self.run([vector], to_end=False)
        excesses = self.excesses(vector)
        return excesses is not None and all(
            excess == 0 for goal, excess in enumerate(excesses) if goals is None or goal in goals
        )

    def best(self) -> Vector:
        """Return the vector that misses the goals least, of those the one with the smallest change."""
        return min(self.runs, key=self._rank)

    def _rank(self, vector: Vector) -> tuple[float, int, Vector]:
        return sum(self.runs[vector]), self.problem.cost(vector), vector

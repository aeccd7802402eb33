"""The steps and rounds of a division, compared one by one with those of the engine's rule."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_review.shares.division_records import Division, Number


class RefusedStepError(ValueError):
    """A number that does not follow from the rule; the message names step, queue and field."""


class StepWalk:
    """A division that is checked step by step.

    Attributes:
        division: The checked division.
        held: The amount given to each queue so far.
    """

    def __init__(self, division: Division) -> None:
        self.division = division
        self.held: dict[str, Number] = {claim.name: 0 for claim in division.claims}
        self._step = self._round = 0

    def opens(self, priority: int, number: int, left: Number, weights: Mapping[str, Number]) -> None:
        """Compare the next round with that of the rule. Raises `RefusedStepError`."""
        where = f"round {self._round + 1}"
        if self._round == len(self.division.rounds):
            raise RefusedStepError(f"{where} is missing")
        made = self.division.rounds[self._round]
        _same(f"{where}: priority", made.priority, priority)
        _same(f"{where}: number", made.number, number)
        _same(f"{where}: left", made.left, left)
        if list(made.weights) != list(weights):
            raise RefusedStepError(
                f"{where}: the weights are {_named(made.weights)}; expected {_named(weights)}, in this order"
            )
        for name, weight in weights.items():
            _same(f"{where}, queue {name}: weight", made.weights[name], weight)
        self._round += 1

    def gives(self, name: str, phase: str, number: int, amount: Number) -> None:
        """Compare the next step with that of the rule; an amount of 0 is not a step. Raises `RefusedStepError`."""
        if amount == 0:
            return
        where = f"step {self._step + 1}"
        if self._step == len(self.division.steps):
            raise RefusedStepError(f"{where} is missing: {amount} in phase {phase} for queue {name}")
        made = self.division.steps[self._step]
        if made.name != name:
            raise RefusedStepError(f"{where}: queue is {made.name}, expected {name}")
        if made.phase != phase:
            raise RefusedStepError(f"{where}, queue {name}: phase is {made.phase}, expected {phase}")
        _same(f"{where}, queue {name}: round", made.round, number)
        _same(f"{where}, queue {name}: amount", made.amount, amount)
        self.held[name] += made.amount
        self._step += 1

    def ends(self, left: Number) -> None:
        """Compare the remainder, and the shares with the sums of the steps. Raises `RefusedStepError`."""
        if self._step < len(self.division.steps):
            made = self.division.steps[self._step]
            raise RefusedStepError(f"step {self._step + 1}, queue {made.name}: unexpected step")
        if self._round < len(self.division.rounds):
            raise RefusedStepError(f"unexpected round {self._round + 1}")
        for claim in self.division.claims:
            _same(f"queue {claim.name}: share", claim.share, self.held[claim.name])
        _same("left", self.division.left, left)


def _same(where: str, written: Number, follows: Number) -> None:
    if written != follows:
        raise RefusedStepError(f"{where} is {written}, expected {follows}")


def _named(weights: Mapping[str, Number]) -> str:
    return ", ".join(weights) or "no queue"

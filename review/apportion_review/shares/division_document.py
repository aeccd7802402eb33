"""Conversion of share proofs to JSON and back without loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from apportion_review.shares.division_records import Claim, Division, Number, Round, Setting, ShareProof, Step

_CLAIM = frozenset(("queue", "name", "share"))


class MalformedProofError(ValueError):
    """A proof that does not have the format of reports; the message names the field."""


def proof_document(proof: ShareProof) -> dict[str, Any]:
    """Return a proof as JSON; amounts are GPUs, exactly as the engine counts them."""
    return {
        "side": proof.side,
        "demand": proof.demand.value,
        "engine": proof.inputs.engine,
        "resource": proof.inputs.resource,
        "settings": dict(proof.inputs.settings),
        "divisions": [_division(division) for division in proof.divisions],
    }


def _division(division: Division) -> dict[str, Any]:
    return {
        "parent": division.parent,
        "total": division.total,
        "claims": [
            {"queue": claim.queue, "name": claim.name, **claim.numbers, "share": claim.share}
            for claim in division.claims
        ],
        "rounds": [
            {"priority": each.priority, "number": each.number, "left": each.left, "weights": dict(each.weights)}
            for each in division.rounds
        ],
        "steps": [
            {"name": step.name, "phase": step.phase, "round": step.round, "amount": step.amount}
            for step in division.steps
        ],
        "left": division.left,
    }


def division_of(document: object, where: str) -> Division:
    """Return a division from JSON.

    Args:
        document: The JSON value.
        where: Name of the division in messages.

    Raises:
        MalformedProofError: If a field is missing, unknown or of the wrong type.
    """
    made = _object(document, where, ("parent", "total", "claims", "rounds", "steps", "left"))
    parent = made["parent"]
    return Division(
        None if parent is None else _text(parent, f"{where}: parent"),
        _number(made["total"], f"{where}: total"),
        tuple(_claim(each, f"{where}: claim {n}") for n, each in enumerate(_list(made["claims"], where), 1)),
        tuple(_round(each, f"{where}: round {n}") for n, each in enumerate(_list(made["rounds"], where), 1)),
        tuple(_step(each, f"{where}: step {n}") for n, each in enumerate(_list(made["steps"], where), 1)),
        _number(made["left"], f"{where}: left"),
    )


def _claim(document: object, where: str) -> Claim:
    made = _object(document, where)
    if not made.keys() >= _CLAIM:
        raise MalformedProofError(f"{where} has no {min(_CLAIM - made.keys())}")
    name = _text(made["name"], f"{where}: name")
    numbers = {key: _setting(value, f"{where}, {name}: {key}") for key, value in made.items() if key not in _CLAIM}
    return Claim(
        name, _text(made["queue"], f"{where}: queue"), numbers, _number(made["share"], f"{where}, {name}: share")
    )


def _round(document: object, where: str) -> Round:
    made = _object(document, where, ("priority", "number", "left", "weights"))
    weights = _object(made["weights"], f"{where}: weights")
    return Round(
        _integer(made["priority"], f"{where}: priority"),
        _integer(made["number"], f"{where}: number"),
        _number(made["left"], f"{where}: left"),
        {name: _number(weight, f"{where}: weight of {name}") for name, weight in weights.items()},
    )


def _step(document: object, where: str) -> Step:
    made = _object(document, where, ("name", "phase", "round", "amount"))
    return Step(
        _text(made["name"], f"{where}: name"),
        _text(made["phase"], f"{where}: phase"),
        _integer(made["round"], f"{where}: round"),
        _number(made["amount"], f"{where}: amount"),
    )


def _object(value: object, where: str, keys: Sequence[str] | None = None) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise MalformedProofError(f"{where} is not an object")
    made = cast("Mapping[str, object]", value)
    others = set(made) ^ set(keys or made)
    if others:
        named = ", ".join(sorted(others))
        raise MalformedProofError(f"{where} must have the fields {', '.join(keys or ())}; missing or extra: {named}")
    return made


def _list(value: object, where: str) -> Sequence[object]:
    if not isinstance(value, list):
        raise MalformedProofError(f"{where}: claims, rounds and steps must be lists")
    return cast("Sequence[object]", value)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise MalformedProofError(f"{where} is not a string")
    return value


def _number(value: object, where: str) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise MalformedProofError(f"{where} is not a number")
    return value


def _integer(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise MalformedProofError(f"{where} is not a whole number")
    return value


def _setting(value: object, where: str) -> Setting:
    return value if value is None or isinstance(value, bool) else _number(value, where)

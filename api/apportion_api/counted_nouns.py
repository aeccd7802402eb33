"""Counted nouns in messages, spelled alike in every package."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 queue`, `2 queues`, `1,200 queues`, `1 policy`, `2 policies`.

    Args:
        number: The number.
        noun: The singular, including adjectives: `running workload`.
        plural: The plural, if it does not just append an `s`.
    """
    return f"{number:,} {agreeing(number, noun, plural)}"


def agreeing(number: int, one: str, several: str | None = None) -> str:
    """Return the form that agrees with a number: `is` or `are`, `gate` or `gates`."""
    return one if number == 1 else several or f"{one}s"

"""Suggestions for a name that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from itertools import takewhile

_MAX_COMPARISONS = 20_000
"""Bounds the time of a check: every unknown name is compared with every known one, at some microseconds each."""

_LEAST_LETTERS = 5
"""In shorter names, a different letter is usually a different word."""


def is_misspelt(name: str, meant: str, known: Collection[str]) -> bool:
    """Return whether a name differs from another by one letter wrong, missing or added, or by two transposed letters.

    False if they differ in a digit, which often distinguishes names, or if another known name is as close.
    """
    return (
        min(len(name), len(meant)) >= _LEAST_LETTERS
        and _is_one_typo(name, meant)
        and not any(_is_one_typo(name, other) for other in known if other != meant)
    )


def is_one_character_more(name: str, other: str) -> bool:
    """Return whether one of two names is the other with one character added, including a digit."""
    longer, shorter = (name, other) if len(name) > len(other) else (other, name)
    begin = _n_shared(longer, shorter)
    return len(longer) == len(shorter) + 1 and longer[begin + 1 :] == shorter[begin:]


def one_digit_off(name: str, known: Collection[str]) -> str | None:
    """Return the only known name that differs from a name in a single digit; None if there is not exactly one."""
    near = [other for other in known if _differs_in_a_digit(name, other)]
    return near[0] if len(near) == 1 else None


def _differs_in_a_digit(name: str, other: str) -> bool:
    if len(name) != len(other) or len(name) < _LEAST_LETTERS:
        return False
    differing = [(first, second) for first, second in zip(name, other, strict=True) if first != second]
    return len(differing) == 1 and all(character.isdigit() for character in differing[0])


def _is_one_typo(name: str, other: str) -> bool:
    begin = _n_shared(name, other)
    end = _n_shared(name[begin:][::-1], other[begin:][::-1])
    left, right = name[begin : len(name) - end], other[begin : len(other) - end]
    if any(character.isdigit() for character in left + right):
        return False
    return max(len(left), len(right)) == 1 or (len(left) == 2 and left == right[::-1])


def _n_shared(name: str, other: str) -> int:
    """Return the length of the common prefix of two names."""
    alike = (first == second for first, second in zip(name, other, strict=False))
    return sum(takewhile(bool, alike))


def suggester(known: Collection[str]) -> Callable[[str], str | None]:
    """Return a function from an unknown name to the most similar known name, or None.

    It always returns None after many unknown names in a large policy.
    """
    answers: dict[str, str | None] = {}
    n_compared = 0

    def suggest(name: str) -> str | None:
        nonlocal n_compared
        if name not in answers:
            if n_compared + len(known) > max(_MAX_COMPARISONS, len(known)):
                return None
            n_compared += len(known)
            answers[name] = next(iter(get_close_matches(name, known, n=1)), None)
        return answers[name]

    return suggest

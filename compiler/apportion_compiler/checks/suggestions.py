"""What an author probably meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches

_MAX_COMPARISONS = 20_000
"""Bounds the time of one check: every misspelt name is compared with every known one, at some microseconds each."""


def suggester(known: Collection[str]) -> Callable[[str], str | None]:
    """Return a function from an unknown name to the known name most like it, or None.

    After many different unknown names in a large policy it gives up and answers None.
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

"""The tail of a message about an unknown name: the valid names to choose from."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN = 8


def alternatives(known: Iterable[str]) -> str:
    """Return an imperative, such as `choose one of dev or prod`; `none is defined` if there are no valid names."""
    names = list(known)
    if len(names) < 2:
        return f"choose {names[0]}" if names else "none is defined"
    more = len(names) - _SHOWN
    *first, last = names if more <= 0 else (*names[:_SHOWN], f"{more} more")
    return f"choose one of {', '.join(first)} or {last}"

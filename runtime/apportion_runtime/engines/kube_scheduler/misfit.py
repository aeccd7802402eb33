"""Why a node is not one for a pod."""

from __future__ import annotations

from typing import NamedTuple


class Misfit(NamedTuple):
    """Why a node is not one for a pod; `for_good` where no eviction there would change that."""

    reasons: tuple[str, ...]
    for_good: bool = False

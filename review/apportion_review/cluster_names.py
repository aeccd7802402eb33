"""The clusters of a statement as text: all, those of an environment, or some."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby


def place_text(clusters: Collection[str], every: Sequence[str]) -> str:
    """Return ` in prod`, ` on prod/gpu-1` or ` on 3 of 7 clusters in prod`; empty if it is all of them.

    Args:
        clusters: Names such as `prod/gpu-1`.
        every: All clusters of the policy; others have been removed from it.
    """
    if not any(clusters) or set(clusters) >= set(every):
        return ""
    names: list[str] = []
    for environment, group in groupby(every, key=lambda name: name.partition("/")[0]):
        all_here = list(group)
        here = [name for name in all_here if name in clusters]
        if len(here) == len(all_here):
            names.append(f"in {environment}")
        elif len(here) == 1:
            names.append(f"on {here[0]}")
        elif here:
            names.append(f"on {len(here)} of {len(all_here)} clusters in {environment}")
    gone = [name for name in clusters if name and name not in every]
    if gone:
        names.append(f"on {gone[0]}" if len(gone) == 1 else f"on {len(gone)} removed clusters")
    return f" {', '.join(names)}"

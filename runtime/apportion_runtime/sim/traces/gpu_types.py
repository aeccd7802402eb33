"""GPU types of a trace that no rule maps to the GPU models of the nodes."""

from __future__ import annotations

from collections.abc import Container, Iterable


def unmapped_types(types: Iterable[str], models: Container[str]) -> tuple[str, ...]:
    """Return the warning about jobs that accept any device, although the trace has their GPU type."""
    unmapped = sorted(kind for kind in types if kind and kind not in models)
    if not unmapped:
        return ()
    named = f"type {unmapped[0]}" if len(unmapped) == 1 else f"types {', '.join(unmapped[:-1])} and {unmapped[-1]}"
    return (f"jobs with GPU {named} accept any GPU; to restrict them, map each type to one of the nodes' GPU models",)

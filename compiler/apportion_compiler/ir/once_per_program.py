"""Results that the findings and the objects of a program share, computed once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from apportion_compiler.ir.program import Program

Result = TypeVar("Result")


def once_per_program(compute: Callable[[Program], Result]) -> Callable[[Program], Result]:
    """Decorate a pure function of a program whose result callers do not change: it is kept as long as the program."""
    # A program is compared by identity, because its mappings cannot be hashed.
    kept: dict[int, Result] = {}

    @wraps(compute)
    def result_of(program: Program) -> Result:
        key = id(program)
        if key not in kept:
            kept[key] = compute(program)
            weakref.finalize(program, kept.pop, key).atexit = False
        return kept[key]

    return result_of

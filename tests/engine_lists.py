"""The engines that a test covers: all of the registry but those excluded with a reason, so that it covers a new one."""

from __future__ import annotations

from apportion_compiler.engines.registry import ENGINES


def engines_except(**reasons: str) -> tuple[str, ...]:
    """Return all engines but those that are named, each with the reason why the test does not apply to it."""
    unknown = reasons.keys() - set(ENGINES)
    assert not unknown, f"unknown engines: {unknown}"
    return tuple(engine for engine in ENGINES if engine not in reasons)

"""The rules, one per file. Order is the order of the phases; within a phase it has no effect on what is reported."""

from __future__ import annotations

from apportion_compiler.checks.check import Check, StructureCheck
from apportion_compiler.checks.quota_oversubscribed import quota_oversubscribed

STRUCTURE_CHECKS: tuple[StructureCheck, ...] = ()

CHECKS: tuple[Check, ...] = (quota_oversubscribed,)

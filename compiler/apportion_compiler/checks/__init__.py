"""The rules, one per file. Order is the order of the phases; within a phase it has no effect on what is reported."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.checks.check import Check, JudgedCheck, StructureCheck
from apportion_compiler.checks.quota_oversubscribed import QUOTA_OVERSUBSCRIBED, quota_oversubscribed
from apportion_compiler.checks.refusals import REFUSALS
from apportion_compiler.checks.unknown_parent import UNKNOWN_PARENT, unknown_parent
from apportion_compiler.diagnostics.diagnostic import Rule

STRUCTURE_CHECKS: tuple[StructureCheck, ...] = (unknown_parent,)
"""They read bare declarations, which may be faulty in every way."""

CHECKS: tuple[Check, ...] = (quota_oversubscribed,)
"""They read a graph whose structure is sound."""

JUDGED_CHECKS: tuple[JudgedCheck, ...] = ()
"""They read the findings of all others, with the waivers applied."""

_RULES: tuple[Rule, ...] = (
    UNKNOWN_PARENT,
    QUOTA_OVERSUBSCRIBED,
    *REFUSALS.values(),
)
RULES: Mapping[str, Rule] = {rule.code: rule for rule in sorted(_RULES, key=lambda rule: rule.code)}
"""Every rule by its code, in order of code."""

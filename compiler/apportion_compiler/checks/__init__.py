"""The rules, one per file. Order is the order of the phases; within a phase it has no effect on what is reported."""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.checks.check import Check, JudgedCheck, StructureCheck
from apportion_compiler.checks.conflicting_parent import CONFLICTING_PARENT, conflicting_parent
from apportion_compiler.checks.duplicate_id import DUPLICATE_ID, duplicate_id
from apportion_compiler.checks.invalid_name import INVALID_NAME, invalid_name
from apportion_compiler.checks.name_collision import NAME_COLLISION, name_collision
from apportion_compiler.checks.namespace_on_inner_queue import NAMESPACE_ON_INNER_QUEUE, namespace_on_inner_queue
from apportion_compiler.checks.namespace_shared import NAMESPACE_SHARED, namespace_shared
from apportion_compiler.checks.object_without_owner import OBJECT_WITHOUT_OWNER, object_without_owner
from apportion_compiler.checks.override_expired import OVERRIDE_EXPIRED, override_expired
from apportion_compiler.checks.override_overlapping import OVERRIDE_OVERLAPPING, override_overlapping
from apportion_compiler.checks.queue_cycle import QUEUE_CYCLE, queue_cycle
from apportion_compiler.checks.quota_oversubscribed import QUOTA_OVERSUBSCRIBED, quota_oversubscribed
from apportion_compiler.checks.refusals import REFUSALS
from apportion_compiler.checks.unknown_engine_version import UNKNOWN_ENGINE_VERSION, unknown_engine_version
from apportion_compiler.checks.unknown_parent import UNKNOWN_PARENT, unknown_parent
from apportion_compiler.checks.unknown_reference import UNKNOWN_REFERENCE, unknown_reference
from apportion_compiler.checks.waiver_expired import WAIVER_EXPIRED, waiver_expired
from apportion_compiler.checks.waiver_unused import WAIVER_UNUSED, waiver_unused
from apportion_compiler.checks.workload_on_inner_queue import WORKLOAD_ON_INNER_QUEUE, workload_on_inner_queue
from apportion_compiler.diagnostics.diagnostic import Rule

STRUCTURE_CHECKS: tuple[StructureCheck, ...] = (
    unknown_parent,
    queue_cycle,
    duplicate_id,
    invalid_name,
    name_collision,
    namespace_shared,
    namespace_on_inner_queue,
    conflicting_parent,
    unknown_reference,
    unknown_engine_version,
    override_expired,
    override_overlapping,
    waiver_expired,
    workload_on_inner_queue,
)
"""They read bare declarations, which may be faulty in every way."""

CHECKS: tuple[Check, ...] = (
    object_without_owner,
    quota_oversubscribed,
)
"""They read a graph whose structure is sound."""

JUDGED_CHECKS: tuple[JudgedCheck, ...] = (waiver_unused,)
"""They read the findings of all others, with the waivers applied."""

_RULES: tuple[Rule, ...] = (
    UNKNOWN_PARENT,
    QUEUE_CYCLE,
    DUPLICATE_ID,
    INVALID_NAME,
    NAME_COLLISION,
    NAMESPACE_SHARED,
    NAMESPACE_ON_INNER_QUEUE,
    CONFLICTING_PARENT,
    UNKNOWN_REFERENCE,
    UNKNOWN_ENGINE_VERSION,
    OVERRIDE_EXPIRED,
    OVERRIDE_OVERLAPPING,
    WAIVER_EXPIRED,
    WAIVER_UNUSED,
    OBJECT_WITHOUT_OWNER,
    WORKLOAD_ON_INNER_QUEUE,
    QUOTA_OVERSUBSCRIBED,
    *REFUSALS.values(),
)
RULES: Mapping[str, Rule] = {rule.code: rule for rule in sorted(_RULES, key=lambda rule: rule.code)}
"""Every rule by its code, in order of code."""

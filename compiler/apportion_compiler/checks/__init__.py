"""The rules, one per file.

They run in the order of the phases; the order within a phase does not affect the findings.
"""

from __future__ import annotations

from collections.abc import Mapping

from apportion_compiler.checks.check import Check, FindingCheck, StructureCheck
from apportion_compiler.checks.conflicting_parent import CONFLICTING_PARENT, conflicting_parent
from apportion_compiler.checks.conflicting_pools import CONFLICTING_POOLS, conflicting_pools
from apportion_compiler.checks.declaration_left_out import DECLARATION_LEFT_OUT, declaration_left_out
from apportion_compiler.checks.duplicate_id import DUPLICATE_ID, duplicate_id
from apportion_compiler.checks.enforcement_weakened import ENFORCEMENT_WEAKENED, enforcement_weakened
from apportion_compiler.checks.equal_priorities import EQUAL_PRIORITIES, equal_priorities
from apportion_compiler.checks.evaluation_faults import AUTHORING
from apportion_compiler.checks.file_not_read import FILE_NOT_READ, file_not_read
from apportion_compiler.checks.gpu_model_without_pool import GPU_MODEL_WITHOUT_POOL, gpu_model_without_pool
from apportion_compiler.checks.gpu_pool_untainted import GPU_POOL_UNTAINTED, gpu_pool_untainted
from apportion_compiler.checks.gpu_sharing_without_reservation import (
    GPU_SHARING_WITHOUT_RESERVATION,
    gpu_sharing_without_reservation,
)
from apportion_compiler.checks.gpus_shared_twice import GPUS_SHARED_TWICE, gpus_shared_twice
from apportion_compiler.checks.guarantee_over_limit import GUARANTEE_OVER_LIMIT, guarantee_over_limit
from apportion_compiler.checks.guarantees_over_capacity import GUARANTEES_OVER_CAPACITY, guarantees_over_capacity
from apportion_compiler.checks.guarantees_over_capacity_one_node_down import (
    GUARANTEES_OVER_CAPACITY_ONE_NODE_DOWN,
    guarantees_over_capacity_one_node_down,
)
from apportion_compiler.checks.implausible_memory import IMPLAUSIBLE_MEMORY, implausible_memory
from apportion_compiler.checks.invalid_name import INVALID_NAME, invalid_name
from apportion_compiler.checks.invalid_topology import INVALID_TOPOLOGY, invalid_topology
from apportion_compiler.checks.lending_over_guarantee import LENDING_OVER_GUARANTEE, lending_over_guarantee
from apportion_compiler.checks.limit_over_parent import LIMIT_OVER_PARENT, limit_over_parent
from apportion_compiler.checks.local_queue_of_another_owner import (
    LOCAL_QUEUE_OF_ANOTHER_OWNER,
    local_queue_of_another_owner,
)
from apportion_compiler.checks.machine_type_mismatch import MACHINE_TYPE_MISMATCH, machine_type_mismatch
from apportion_compiler.checks.manifests import MANIFEST_RULES
from apportion_compiler.checks.minimum_runtime_ineffective import (
    MINIMUM_RUNTIME_INEFFECTIVE,
    minimum_runtime_ineffective,
)
from apportion_compiler.checks.multiple_global_defaults import MULTIPLE_GLOBAL_DEFAULTS, multiple_global_defaults
from apportion_compiler.checks.name_collision import NAME_COLLISION, name_collision
from apportion_compiler.checks.namespace_on_inner_queue import NAMESPACE_ON_INNER_QUEUE, namespace_on_inner_queue
from apportion_compiler.checks.namespace_shared import NAMESPACE_SHARED, namespace_shared
from apportion_compiler.checks.no_ordinary_pool import NO_ORDINARY_POOL, no_ordinary_pool
from apportion_compiler.checks.non_preemptible_without_guarantee import (
    NON_PREEMPTIBLE_WITHOUT_GUARANTEE,
    non_preemptible_without_guarantee,
)
from apportion_compiler.checks.object_without_owner import OBJECT_WITHOUT_OWNER, object_without_owner
from apportion_compiler.checks.overlapping_override import OVERLAPPING_OVERRIDE, overlapping_override
from apportion_compiler.checks.override_counts_differently import (
    OVERRIDE_COUNTS_DIFFERENTLY,
    override_counts_differently,
)
from apportion_compiler.checks.override_expired import OVERRIDE_EXPIRED, override_expired
from apportion_compiler.checks.pool_setting_unsupported import POOL_SETTING_UNSUPPORTED, pool_setting_unsupported
from apportion_compiler.checks.pool_size_inverted import POOL_SIZE_INVERTED, pool_size_inverted
from apportion_compiler.checks.pool_unused import POOL_UNUSED, pool_unused
from apportion_compiler.checks.preemptibility_implicit import PREEMPTIBILITY_IMPLICIT, preemptibility_implicit
from apportion_compiler.checks.preemptibility_mismatch import (
    PREEMPTIBILITY_MISMATCH,
    preemptibility_mismatch,
)
from apportion_compiler.checks.priority_out_of_range import PRIORITY_OUT_OF_RANGE, priority_out_of_range
from apportion_compiler.checks.queue_cannot_run import QUEUE_CANNOT_RUN, queue_cannot_run
from apportion_compiler.checks.queue_cycle import QUEUE_CYCLE, queue_cycle
from apportion_compiler.checks.queue_without_namespace import QUEUE_WITHOUT_NAMESPACE, queue_without_namespace
from apportion_compiler.checks.queued_forbidden_setting import QUEUED_FORBIDDEN_SETTING, queued_forbidden_setting
from apportion_compiler.checks.queued_too_long import QUEUED_TOO_LONG, queued_too_long
from apportion_compiler.checks.queued_too_many_nodes import QUEUED_TOO_MANY_NODES, queued_too_many_nodes
from apportion_compiler.checks.queued_version_too_old import QUEUED_VERSION_TOO_OLD, queued_version_too_old
from apportion_compiler.checks.queued_without_gpu import QUEUED_WITHOUT_GPU, queued_without_gpu
from apportion_compiler.checks.quota_oversubscribed import QUOTA_OVERSUBSCRIBED, quota_oversubscribed
from apportion_compiler.checks.refusals import REFUSALS
from apportion_compiler.checks.required_rule_disabled import REQUIRED_RULE_DISABLED, required_rule_disabled
from apportion_compiler.checks.reserved_label import RESERVED_LABEL, reserved_label
from apportion_compiler.checks.reserved_namespace import RESERVED_NAMESPACE, reserved_namespace
from apportion_compiler.checks.reserved_node_label import RESERVED_NODE_LABEL, reserved_node_label
from apportion_compiler.checks.reserved_priority_name import RESERVED_PRIORITY_NAME, reserved_priority_name
from apportion_compiler.checks.snapshots import SNAPSHOTS
from apportion_compiler.checks.unknown_engine_version import UNKNOWN_ENGINE_VERSION, unknown_engine_version
from apportion_compiler.checks.unknown_parent import UNKNOWN_PARENT, unknown_parent
from apportion_compiler.checks.unknown_reference import UNKNOWN_REFERENCE, unknown_reference
from apportion_compiler.checks.unknown_topology import UNKNOWN_TOPOLOGY, unknown_topology
from apportion_compiler.checks.unlimited_guarantee import UNLIMITED_GUARANTEE, unlimited_guarantee
from apportion_compiler.checks.waiver_expired import WAIVER_EXPIRED, waiver_expired
from apportion_compiler.checks.waiver_unused import WAIVER_UNUSED, waiver_unused
from apportion_compiler.checks.weight_without_surplus import WEIGHT_WITHOUT_SURPLUS, weight_without_surplus
from apportion_compiler.checks.workload_in_inner_queue import WORKLOAD_IN_INNER_QUEUE, workload_in_inner_queue
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
    declaration_left_out,
    file_not_read,
    required_rule_disabled,
    reserved_label,
)
"""Checks of declarations, which may be invalid in any way."""

CHECKS: tuple[Check, ...] = (
    unknown_engine_version,
    override_expired,
    overlapping_override,
    override_counts_differently,
    waiver_expired,
    workload_in_inner_queue,
    reserved_namespace,
    enforcement_weakened,
    local_queue_of_another_owner,
    object_without_owner,
    quota_oversubscribed,
    guarantee_over_limit,
    limit_over_parent,
    unlimited_guarantee,
    queue_cannot_run,
    non_preemptible_without_guarantee,
    weight_without_surplus,
    minimum_runtime_ineffective,
    lending_over_guarantee,
    implausible_memory,
    queue_without_namespace,
    invalid_topology,
    unknown_topology,
    priority_out_of_range,
    reserved_priority_name,
    multiple_global_defaults,
    equal_priorities,
    preemptibility_implicit,
    preemptibility_mismatch,
    guarantees_over_capacity,
    guarantees_over_capacity_one_node_down,
    gpu_model_without_pool,
    pool_unused,
    gpu_pool_untainted,
    no_ordinary_pool,
    queued_without_gpu,
    queued_too_many_nodes,
    queued_too_long,
    queued_forbidden_setting,
    queued_version_too_old,
    pool_size_inverted,
    reserved_node_label,
    machine_type_mismatch,
    pool_setting_unsupported,
    conflicting_pools,
    gpus_shared_twice,
    gpu_sharing_without_reservation,
)
"""Checks of a graph with a valid structure."""

FINDING_CHECKS: tuple[FindingCheck, ...] = (waiver_unused,)
"""Checks of all other findings, after waivers are applied."""

_RULES: tuple[Rule, ...] = (
    *AUTHORING.values(),
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
    OVERLAPPING_OVERRIDE,
    WAIVER_EXPIRED,
    WAIVER_UNUSED,
    OBJECT_WITHOUT_OWNER,
    WORKLOAD_IN_INNER_QUEUE,
    RESERVED_NAMESPACE,
    DECLARATION_LEFT_OUT,
    FILE_NOT_READ,
    OVERRIDE_COUNTS_DIFFERENTLY,
    REQUIRED_RULE_DISABLED,
    RESERVED_LABEL,
    ENFORCEMENT_WEAKENED,
    LOCAL_QUEUE_OF_ANOTHER_OWNER,
    QUOTA_OVERSUBSCRIBED,
    GUARANTEE_OVER_LIMIT,
    LIMIT_OVER_PARENT,
    UNLIMITED_GUARANTEE,
    QUEUE_CANNOT_RUN,
    NON_PREEMPTIBLE_WITHOUT_GUARANTEE,
    WEIGHT_WITHOUT_SURPLUS,
    MINIMUM_RUNTIME_INEFFECTIVE,
    LENDING_OVER_GUARANTEE,
    IMPLAUSIBLE_MEMORY,
    QUEUE_WITHOUT_NAMESPACE,
    INVALID_TOPOLOGY,
    UNKNOWN_TOPOLOGY,
    PRIORITY_OUT_OF_RANGE,
    RESERVED_PRIORITY_NAME,
    MULTIPLE_GLOBAL_DEFAULTS,
    EQUAL_PRIORITIES,
    PREEMPTIBILITY_IMPLICIT,
    PREEMPTIBILITY_MISMATCH,
    GUARANTEES_OVER_CAPACITY,
    GUARANTEES_OVER_CAPACITY_ONE_NODE_DOWN,
    GPU_MODEL_WITHOUT_POOL,
    POOL_UNUSED,
    GPU_POOL_UNTAINTED,
    NO_ORDINARY_POOL,
    QUEUED_WITHOUT_GPU,
    QUEUED_TOO_MANY_NODES,
    QUEUED_TOO_LONG,
    QUEUED_FORBIDDEN_SETTING,
    QUEUED_VERSION_TOO_OLD,
    POOL_SIZE_INVERTED,
    RESERVED_NODE_LABEL,
    MACHINE_TYPE_MISMATCH,
    POOL_SETTING_UNSUPPORTED,
    CONFLICTING_POOLS,
    GPUS_SHARED_TWICE,
    GPU_SHARING_WITHOUT_RESERVATION,
    *REFUSALS.values(),
    *MANIFEST_RULES.values(),
    *SNAPSHOTS.values(),
)
RULES: Mapping[str, Rule] = {rule.code: rule for rule in sorted(_RULES, key=lambda rule: rule.code)}
"""Every rule by its code, in order of code."""

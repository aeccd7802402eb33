"""An imported policy, with a note for every difference between the imported objects and those that it compiles to.

The policy is compiled in memory, and its objects are compared leaf by leaf with the imported ones. So readers do not
have to report what they omit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest as Made
from apportion_compiler.backends.object_families import FAMILIES, managed
from apportion_compiler.checks import CHECKS, STRUCTURE_CHECKS
from apportion_compiler.checks.conflicting_parent import CONFLICTING_PARENT
from apportion_compiler.checks.duplicate_id import DUPLICATE_ID
from apportion_compiler.checks.queue_cycle import QUEUE_CYCLE
from apportion_compiler.checks.unknown_parent import UNKNOWN_PARENT
from apportion_compiler.checks.unknown_reference import UNKNOWN_REFERENCE
from apportion_compiler.diagnostics.diagnostic import Diagnostic, has_errors
from apportion_compiler.engines.registry import PLAIN_KUBERNETES
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.policy_writer.conservation import losses
from apportion_compiler.policy_writer.declarations import DeclaredPolicy, PolicyIdentity, declare_record
from apportion_compiler.policy_writer.files import policy_files
from apportion_compiler.readers import READERS
from apportion_compiler.readers.cluster_reader import read_cluster
from apportion_compiler.readers.objects import is_ours
from apportion_compiler.readers.record import ImportRecord, Manifest, Note
from apportion_policy.policy import Organisation, Policy

_ANY_DAY = date(2000, 1, 1)
"""Any date: an imported policy has no overrides."""
_UNSOUND = frozenset(
    rule.code for rule in (UNKNOWN_PARENT, QUEUE_CYCLE, DUPLICATE_ID, CONFLICTING_PARENT, UNKNOWN_REFERENCE)
)
"""Rules whose errors make the tree invalid for lowering."""


def adopted_policy(
    manifests: Sequence[Manifest], identity: PolicyIdentity
) -> tuple[Mapping[str, str], tuple[Note, ...]]:
    """Return the files of a policy by name, and its notes.

    Raises:
        ValueError: If a value of an object is invalid.
        UnwritableError: If a policy cannot represent a value.
    """
    return policy_files(_adopted_record(manifests, identity), identity)


def policy_of_objects(manifests: Sequence[Manifest], identity: PolicyIdentity) -> tuple[Policy, tuple[Note, ...]]:
    """Return the policy that `adopted_policy` writes as declarations, and its notes. Raises the same errors."""
    declared = declare_record(_adopted_record(manifests, identity), identity)
    return _policy(declared, identity), declared.notes


def _adopted_record(manifests: Sequence[Manifest], identity: PolicyIdentity) -> ImportRecord:
    record = read_cluster(identity.engine.value, manifests)
    # The first apply changes only the engine's objects. On plain Kubernetes, these include namespaces and ResourceQuotas.
    if identity.engine.value != PLAIN_KUBERNETES and not any(map(is_ours, manifests)):
        record = replace(record, cluster=replace(record.cluster, managed_elsewhere=tuple(FAMILIES)))
    made, faults = objects_made(record, identity)
    with_declared = READERS[identity.engine.value].with_declared
    if with_declared is not None and made is not None:
        record = with_declared(record, manifests, made)
        made, faults = objects_made(record, identity)
    lost = (
        *(Note(f.address, f"{f.message}: the policy does not compile", lost=True) for f in faults),
        # Without a valid tree, there are no objects, so that every field is reported as lost.
        *losses(identity.engine.value, manifests, made or ()),
    )
    return replace(record, notes=tuple(dict.fromkeys((*record.notes, *lost))))


def objects_made(
    record: ImportRecord, identity: PolicyIdentity
) -> tuple[tuple[Made, ...] | None, tuple[Diagnostic, ...]]:
    """Return the objects that the record compiles to, None if its tree is invalid, and the errors of the policy.

    An error that leaves the tree valid, such as a reserved label, stops `compile` but not the comparison.
    """
    policy = _policy(declare_record(record, identity), identity)
    declarations = declare(policy)
    found = tuple(d for check in STRUCTURE_CHECKS for d in check(declarations, _ANY_DAY))
    errors = tuple(d for d in found if has_errors((d,)))
    if any(error.code in _UNSOUND for error in errors):
        return None, errors
    graph = build_graph(declarations, _ANY_DAY)
    errors += tuple(d for check in CHECKS for d in check(graph) if has_errors((d,)))
    (program,) = (lower(graph, scope) for scope in graph.scopes)
    outputs = (
        managed(BACKENDS[name].emit(program), program)
        for name in dict.fromkeys((identity.engine.value, PLAIN_KUBERNETES))
    )
    return tuple(manifest for output in outputs for manifest in output.manifests), errors


def _policy(declared: DeclaredPolicy, identity: PolicyIdentity) -> Policy:
    return Policy(
        organisation=Organisation(name=identity.organisation, owner=identity.owner),
        queues=declared.queues,
        node_pools=declared.pools,
        provisioning_plans=declared.plans,
        priority_classes=declared.priority_classes,
        environments=(declared.environment,),
    )

"""A policy of what an engine has, and a note for everything in which its objects would not come out as they were.

The policy is compiled in memory, and what comes out is compared leaf by leaf with what was read. So no reader has to
know what it leaves out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest as Made
from apportion_compiler.backends.object_families import managed
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
from apportion_compiler.readers.record import ImportRecord, Manifest, Note
from apportion_policy.policy import Organisation, Policy

_ANY_DAY = date(2000, 1, 1)
"""An imported policy has no overrides, so that every day is alike."""
_UNSOUND = frozenset(
    rule.code for rule in (UNKNOWN_PARENT, QUEUE_CYCLE, DUPLICATE_ID, CONFLICTING_PARENT, UNKNOWN_REFERENCE)
)
"""Errors with which there is no tree to lower."""


def adopted_policy(
    manifests: Sequence[Manifest], identity: PolicyIdentity
) -> tuple[Mapping[str, str], tuple[Note, ...]]:
    """Return the texts of a policy by file name, and its notes.

    Raises:
        ValueError: Where a value of an object cannot be read.
        UnwritableError: If a value is none that a policy can hold.
    """
    return policy_files(_adopted_record(manifests, identity), identity)


def policy_of_objects(manifests: Sequence[Manifest], identity: PolicyIdentity) -> tuple[Policy, tuple[Note, ...]]:
    """Return the policy that `adopted_policy` writes as declarations, and its notes. Raises as it does."""
    declared = declare_record(_adopted_record(manifests, identity), identity)
    return _policy(declared, identity), declared.notes


def _adopted_record(manifests: Sequence[Manifest], identity: PolicyIdentity) -> ImportRecord:
    record = read_cluster(identity.engine.value, manifests)
    made, faults = objects_made(record, identity)
    with_declared = READERS[identity.engine.value].with_declared
    if with_declared is not None and made is not None:
        record = with_declared(record, manifests, made)
        made, faults = objects_made(record, identity)
    lost = (
        *(Note(f.address, f"{f.message}: the policy does not compile", lost=True) for f in faults),
        # Without a sound tree there are no objects, so that every field counts as one that is not kept.
        *losses(identity.engine.value, manifests, made or ()),
    )
    return replace(record, notes=tuple(dict.fromkeys((*record.notes, *lost))))


def objects_made(
    record: ImportRecord, identity: PolicyIdentity
) -> tuple[tuple[Made, ...] | None, tuple[Diagnostic, ...]]:
    """Return the objects to which the record compiles, None where its tree is not sound, and the errors of the policy.

    An error that leaves the tree sound, such as a label that no queue may set, stops `compile` and no comparison.
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

"""The admission policies for workloads, generated from an engine's table."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kubernetes.names import NAMESPACE_LABEL
from apportion_compiler.backends.admission.cel import workload_variables
from apportion_compiler.backends.admission.engine_table import EngineTable
from apportion_compiler.backends.admission.labels import (
    has_label,
    label_keys,
    label_validations,
    label_variables,
)
from apportion_compiler.backends.admission.namespace_metadata import QUEUE_LABEL
from apportion_compiler.backends.admission.other_namespaces import outside_condition, outside_validations
from apportion_compiler.backends.admission.policy import AdmissionPolicy, binding_manifest, policy_manifest
from apportion_compiler.backends.admission.rules import workload_validations
from apportion_compiler.backends.admission.scheduling_units import unit_validations, unit_variables
from apportion_compiler.backends.admission.workloads import WORKLOADS, Rule
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.ir.program import Program

_SYSTEM_NAMESPACES = ("kube-node-lease", "kube-public", "kube-system")
_EVERY_KIND: tuple[Rule, ...] = (("*", ("*",)),)


def workload_policies(program: Program, table: EngineTable) -> Iterator[Manifest]:
    """Yield the policies on workloads, then their bindings."""
    policies = tuple(_policies(table))
    yield from (policy_manifest(program, policy) for policy in policies)
    yield from (binding_manifest(program, policy) for policy in policies)


def _policies(table: EngineTable) -> Iterator[AdmissionPolicy]:
    ours = namespace_selector(table, "Exists")
    for workload in (*WORKLOADS, *table.more_workloads):
        yield AdmissionPolicy(
            workload.name,
            workload.rules,
            workload_validations(workload, table),
            workload_variables(workload, table),
            namespaces=ours,
        )
    if table.unit is not None:
        yield AdmissionPolicy(
            "scheduling-units",
            ((table.unit.group, (table.unit.resource,)),),
            unit_validations(table),
            unit_variables(table.unit, table),
            namespaces=ours,
        )
    if keys := label_keys(table):
        yield AdmissionPolicy(
            "labels",
            _EVERY_KIND,
            label_validations(table),
            label_variables(),
            [{"name": "names-something", "expression": has_label(keys)}],
            ours,
        )
    if table.queue_label is not None:
        yield AdmissionPolicy(
            "outside",
            _EVERY_KIND,
            outside_validations(table, table.queue_label),
            conditions=[outside_condition(table, table.queue_label)],
            namespaces=namespace_selector(table, "DoesNotExist"),
        )


def namespace_selector(table: EngineTable, operator: str) -> dict[str, object]:
    """Select the policy's namespaces, or all others.

    System namespaces are never evaluated, regardless of their labels.
    """
    exempt = [*_SYSTEM_NAMESPACES, *table.system_namespaces]
    return {
        "matchExpressions": [
            {"key": QUEUE_LABEL, "operator": operator},
            {"key": NAMESPACE_LABEL, "operator": "NotIn", "values": exempt},
        ]
    }

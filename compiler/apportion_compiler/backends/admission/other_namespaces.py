"""The policy on namespaces that are not in the policy: their workloads must not use its queues."""

from __future__ import annotations

from apportion_compiler.backends.admission.cel import NAMESPACE, text, texts
from apportion_compiler.backends.admission.engine_table import EngineTable, SchedulingUnit
from apportion_compiler.backends.admission.labels import has_label
from apportion_compiler.backends.admission.policy import Condition, Validation


def outside_condition(table: EngineTable, queue_label: str) -> Condition:
    """Return the match condition: a label that names a queue, or the engine's scheduling unit.

    Other objects are skipped.
    """
    named = has_label((queue_label, *table.more_queue_labels))
    if table.queue_annotations:
        held = texts(table.queue_annotations)
        named += f" || object.?metadata.?annotations.orValue({{}}).exists(k, k in {held})"
    return {
        "name": "names-a-queue",
        "expression": named if table.unit is None else f"{named} || ({_is_unit(table.unit)})",
    }


def outside_validations(table: EngineTable, queue_label: str) -> list[Validation]:
    """Return validations that reject workloads in a queue of the policy, except updates that keep the queue name."""
    found = [
        _refuse(table, f"object.?metadata.?{field}[?{text(key)}]", f"oldObject.?metadata.?{field}[?{text(key)}]")
        for field, keys in (
            ("labels", (queue_label, *table.more_queue_labels)),
            ("annotations", table.queue_annotations),
        )
        for key in keys
    ]
    if table.unit is not None:
        unit = _refuse(table, *(f"dyn({of}).spec.?{table.unit.queue}" for of in ("object", "oldObject")))
        found.append({**unit, "expression": f"!({_is_unit(table.unit)}) || {unit['expression']}"})
    return found


def _refuse(table: EngineTable, queue: str, before: str) -> Validation:
    allowed = texts(("",) if table.shared_queue is None else ("", table.shared_queue))
    return {
        "expression": f"{queue}.orValue('') in {allowed} || (request.operation == 'UPDATE' && {before} == {queue})",
        "messageExpression": f"'namespace ' + {NAMESPACE} + ' does not belong to any queue in the policy; add the "
        "namespace to a queue'",
        "reason": "Forbidden",
    }


def _is_unit(unit: SchedulingUnit) -> str:
    return f"request.kind.group == {text(unit.group)} && request.kind.kind == {text(unit.kind)}"

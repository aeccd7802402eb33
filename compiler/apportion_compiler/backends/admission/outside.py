"""The policy on namespaces that are not the policy's: their work may not run in a queue that is."""

from __future__ import annotations

from apportion_compiler.backends.admission.cel import NAMESPACE, text, texts
from apportion_compiler.backends.admission.engine import EngineTable
from apportion_compiler.backends.admission.policy import Validation


def outside_validations(table: EngineTable, queue_label: str) -> list[Validation]:
    """Return what is refused in namespaces that are not the policy's: to run in a queue that is."""
    label = text(queue_label)
    shared = texts(() if table.shared_queue is None else (table.shared_queue,))
    message = f"'namespace ' + {NAMESPACE} + ' belongs to no queue of the policy; add it to the namespaces of one'"
    found: list[Validation] = [
        {
            "expression": f"object.?metadata.?labels[?{label}].orValue('') in {shared} + [''] || (request.operation == "
            f"'UPDATE' && oldObject.?metadata.?labels[?{label}] == object.?metadata.?labels[?{label}])",
            "messageExpression": message,
            "reason": "Forbidden",
        }
    ]
    if table.unit is not None:
        is_unit = f"request.kind.group == {text(table.unit.group)} && request.kind.kind == {text(table.unit.kind)}"
        queue = f"dyn(object).spec.?{table.unit.queue}.orValue('')"
        before = f"dyn(oldObject).spec.?{table.unit.queue}.orValue('')"
        found.append(
            {
                "expression": f"!({is_unit}) || {queue} in {shared} + [''] || "
                f"(request.operation == 'UPDATE' && {before} == {queue})",
                "messageExpression": message,
                "reason": "Forbidden",
            }
        )
    return found

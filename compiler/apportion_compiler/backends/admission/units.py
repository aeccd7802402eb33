"""The policy on the engine's scheduling unit: whatever labels and owners say, this is what is scheduled."""

from __future__ import annotations

from apportion_compiler.backends.admission.cel import CHANGED, CLASSES, NAMESPACE, QUEUES, text, texts
from apportion_compiler.backends.admission.engine import EngineTable, SchedulingUnit
from apportion_compiler.backends.admission.policy import Validation, Variable


def unit_variables(unit: SchedulingUnit) -> list[Variable]:
    """Return the variables of the policy on scheduling units."""
    fields = (("queue", unit.queue), ("class", unit.priority_class), ("preemptibility", unit.preemptibility))
    return [
        QUEUES,
        CLASSES,
        {"name": "named", "expression": _fields("object", fields)},
        {"name": "namedBefore", "expression": _fields("oldObject", fields)},
        CHANGED,
    ]


def unit_validations(table: EngineTable) -> list[Validation]:
    """Return what is refused of a scheduling unit in one of the policy's namespaces."""
    evictable = texts(sorted(name for name, preemptible in table.preemptible.items() if preemptible))
    yes = table.preemptible_words[0]
    unnamed = "true" if table.default_class is None else f"{text(table.default_class)} in variables.classes"
    found: list[Validation] = [
        {
            "expression": "!variables.changed || variables.named.queue in variables.queues",
            "messageExpression": f"'queue ' + variables.named.queue + ' is not one of namespace ' + {NAMESPACE} + ': ' + "
            "variables.queues.join(', ')",
            "reason": "Forbidden",
        }
    ]
    if not table.preemptible:
        return found
    return [
        *found,
        {
            "expression": "!variables.changed || variables.named.class in variables.classes || "
            f"(variables.named.class == '' && {unnamed})",
            "messageExpression": f"'priority class ' + variables.named.class + ' may not be used in namespace ' + {NAMESPACE}",
            "reason": "Forbidden",
        },
        {
            "expression": "!variables.changed || variables.named.class == '' || (variables.named.preemptibility == '' "
            f"? !(variables.named.class in {texts(table.must_say)}) "
            f": (variables.named.preemptibility == '{yes}') == (variables.named.class in {evictable}))",
            "message": "preemptibility contradicts the priority class",
            "reason": "Forbidden",
        },
    ]


def _fields(of: str, fields: tuple[tuple[str, str], ...]) -> str:
    entries = ", ".join(f"'{name}': string(dyn({of}).spec.?{field}.orValue(''))" for name, field in fields)
    return f"{{{entries}}}"

"""The policy on the engine's scheduling unit, which determines the queue regardless of labels and owners."""

from __future__ import annotations

from apportion_compiler.backends.admission.cel import CHANGED, CLASSES, NAMESPACE, QUEUES, preemptibility, text, texts
from apportion_compiler.backends.admission.engine_table import EngineTable, SchedulingUnit
from apportion_compiler.backends.admission.policy import Validation, Variable


def unit_variables(unit: SchedulingUnit, table: EngineTable) -> list[Variable]:
    """Return the variables of the policy on scheduling units."""
    return [
        QUEUES,
        CLASSES,
        {"name": "named", "expression": _named("object", unit, table)},
        {"name": "namedBefore", "expression": _named("oldObject", unit, table)},
        CHANGED,
    ]


def unit_validations(table: EngineTable) -> list[Validation]:
    """Return the validations of a scheduling unit in one of the policy's namespaces."""
    evictable = texts(sorted(name for name, preemptible in table.preemptible.items() if preemptible))
    yes = table.preemptible_words[0]
    must_say = table.must_say if table.unit is None or table.unit.must_say else ()
    unnamed = "true" if table.default_class is None else f"{text(table.default_class)} in variables.classes"
    found: list[Validation] = [
        {
            "expression": "!variables.changed || variables.named.queue in variables.queues",
            "messageExpression": f"'queue ' + variables.named.queue + ' is not allowed in namespace ' + {NAMESPACE} + '; allowed: ' + "
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
            "messageExpression": f"'priority class ' + variables.named.class + ' is not allowed in namespace ' + {NAMESPACE}",
            "reason": "Forbidden",
        },
        {
            "expression": "!variables.changed || variables.named.class == '' || (variables.named.preemptibility == '' "
            f"? !(variables.named.class in {texts(must_say)}) "
            f": (variables.named.preemptibility == '{yes}') == (variables.named.class in {evictable}))",
            "message": "preemptibility contradicts the priority class",
            "reason": "Forbidden",
        },
    ]


def _named(of: str, unit: SchedulingUnit, table: EngineTable) -> str:
    expression = preemptibility(of, table) if unit.preemptibility is None else _field(of, unit.preemptibility)
    entries = (
        ("queue", _field(of, unit.queue)),
        ("class", _field(of, unit.priority_class)),
        ("preemptibility", expression),
    )
    return "{" + ", ".join(f"'{name}': {value}" for name, value in entries) + "}"


def _field(of: str, path: str) -> str:
    return f"string(dyn({of}).spec.?{path}.orValue(''))"

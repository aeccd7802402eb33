"""The policy on labels of objects of any kind: engines read a pod's queue from its owner, which can be any object."""

from __future__ import annotations

from apportion_compiler.backends.admission.cel import CLASSES, NAMESPACE, QUEUES, text, texts
from apportion_compiler.backends.admission.engine_table import EngineTable
from apportion_compiler.backends.admission.policy import Validation, Variable


def label_keys(table: EngineTable) -> tuple[str, ...]:
    """Return the labels that can assign workloads to a queue, on any object."""
    keys = (table.queue_label, *table.more_queue_labels, *table.class_labels, table.preemptibility_label)
    return tuple(key for key in keys if key is not None)


def has_label(keys: tuple[str, ...]) -> str:
    """Return an expression that is true for objects with at least one of the labels."""
    return f"object.?metadata.?labels.orValue({{}}).exists(k, k in {texts(keys)})"


def label_variables() -> list[Variable]:
    """Return the variables of the policy on labels of objects of any kind."""
    return [
        QUEUES,
        CLASSES,
        {"name": "labels", "expression": "object.?metadata.?labels.orValue({})"},
        {
            "name": "labelsBefore",
            "expression": "request.operation == 'CREATE' ? {} : oldObject.?metadata.?labels.orValue({})",
        },
    ]


def label_validations(table: EngineTable) -> list[Validation]:
    """Return the validations of the labels of an object of any kind."""
    found: list[Validation] = []
    if table.queue_label is not None:
        found += [_label(key, "variables.queues") for key in (table.queue_label, *table.more_queue_labels)]
    if table.preemptible:
        found += [_label(key, "variables.classes") for key in table.class_labels]
    return found


def _label(key: str, allowed: str) -> Validation:
    name = text(key)
    return {
        "expression": f"!({name} in variables.labels) || variables.labels[{name}] in {allowed} || "
        f"variables.labelsBefore[?{name}].orValue('') == variables.labels[{name}]",
        "messageExpression": f"'label {key} references ' + variables.labels[{name}] + '; namespace ' + {NAMESPACE} + "
        f"' may use only ' + {allowed}.join(', ')",
        "reason": "Forbidden",
    }

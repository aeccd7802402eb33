"""CEL of the policies: literals, and the queue, class and scheduler names of a workload as a list of maps.

A map has a string for each key, empty if the workload does not set it, so that the values before and after an update
can be compared: an update that changes none of them is always allowed, and objects older than the policy can still be
scaled, finished and deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from apportion_compiler.backends.admission.engine_table import EngineTable
from apportion_compiler.backends.admission.namespace_metadata import (
    CLASSES_ANNOTATION,
    QUEUES_ANNOTATION,
    SHARING_ANNOTATION,
)
from apportion_compiler.backends.admission.policy import Variable
from apportion_compiler.backends.admission.workloads import Workload

NAMESPACE = "namespaceObject.metadata.name"
_NOTHING = "''"
_NOTED = "namespaceObject.metadata.?annotations"

QUEUES: Variable = {"name": "queues", "expression": f"{_NOTED}[?'{QUEUES_ANNOTATION}'].orValue('').split(',')"}
CLASSES: Variable = {"name": "classes", "expression": f"{_NOTED}[?'{CLASSES_ANNOTATION}'].orValue('').split(',')"}
SHARING: Variable = {"name": "mayShare", "expression": f"{_NOTED}[?'{SHARING_ANNOTATION}'].orValue('') == 'true'"}
CHANGED: Variable = {
    "name": "changed",
    "expression": "request.operation == 'CREATE' || variables.named != variables.namedBefore",
}
OWNED: Variable = {
    "name": "owned",
    "expression": "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))",
}


def text(value: str) -> str:
    """Return a string literal."""
    return json.dumps(value, ensure_ascii=False)


def texts(values: Iterable[str]) -> str:
    """Return a list of string literals."""
    return f"[{', '.join(text(value) for value in values)}]"


def workload_variables(workload: Workload, table: EngineTable) -> list[Variable]:
    """Return the variables with the queues, classes and schedulers of a workload.

    `top` has the names in the object's own metadata, `templates` those in its pod templates, `named` both.
    """
    return [
        QUEUES,
        CLASSES,
        *([SHARING] if table.sharing_annotations else []),
        OWNED,
        {"name": "top", "expression": _top("object", workload, table)},
        {"name": "templates", "expression": _templates(workload, "object", table)},
        {"name": "named", "expression": "[variables.top] + variables.templates"},
        {
            "name": "namedBefore",
            "expression": f"[{_top('oldObject', workload, table)}] + {_templates(workload, 'oldObject', table)}",
        },
        CHANGED,
    ]


def _top(of: str, workload: Workload, table: EngineTable) -> str:
    fields = (table.queue_fields.get(workload.name), table.class_fields.get(workload.name))
    queue, cls = (_NOTHING if path is None else f"string(dyn({of}).spec.?{path}.orValue(''))" for path in fields)
    return _named(of, table, queue_field=queue, class_name=cls, has_spec=False)


def _templates(workload: Workload, variable: str, table: EngineTable) -> str:
    found = workload.templates.replace("{object}", variable)
    cls = "string(t.spec.?priorityClassName.orValue(''))"
    return f"({found}).map(t, {_named('t', table, queue_field=_NOTHING, class_name=cls, has_spec=True)})"


def preemptibility(of: str, table: EngineTable) -> str:
    """Return an expression for the preemptibility value in an object's labels and annotations, empty if unset."""
    label, annotation = table.preemptibility_label, table.preemptibility_annotation
    if label is None:
        return _NOTHING
    if annotation is None:
        return _label(of, label)
    held = f"{of}.?metadata.?annotations[?{text(annotation)}]"
    return f"string({held}.or({of}.?metadata.?labels[?{text(label)}]).orValue(''))"


def _named(of: str, table: EngineTable, *, queue_field: str, class_name: str, has_spec: bool) -> str:
    entries = [("queue", _label(of, table.queue_label))] if table.queue_label is not None else []
    entries += [(f"queue{n}", _label(of, key)) for n, key in enumerate(table.more_queue_labels)]
    entries += [(f"noted{n}", _annotation(of, key)) for n, key in enumerate(table.queue_annotations)]
    if table.queue_fields:
        entries.append(("field", queue_field))
    entries += [(f"class{n}", _label(of, key)) for n, key in enumerate(table.class_labels)]
    if table.preemptibility_label is not None:
        entries.append(("preemptibility", preemptibility(of, table)))
    entries.append(("class", class_name))
    entries.append(("scheduler", f"string({of}.spec.?schedulerName.orValue(''))" if has_spec else _NOTHING))
    if table.sharing_annotations:
        asked = [f"{of}.?metadata.?annotations[?{text(key)}].hasValue()" for key in table.sharing_annotations]
        entries.append(("share", f"({' || '.join(asked)} ? 'part' : '')" if has_spec else "''"))
    return "{" + ", ".join(f"'{key}': {value}" for key, value in entries) + "}"


def _label(of: str, key: str) -> str:
    # A list or map of strings must not hold a value of unknown type.
    return f"string({of}.?metadata.?labels[?{text(key)}].orValue(''))"


def _annotation(of: str, key: str) -> str:
    return f"string({of}.?metadata.?annotations[?{text(key)}].orValue(''))"

"""Validations of workloads, in CEL over the variables of `cel.py`.

Updates that do not change the queue, class or scheduler always pass. Workloads that a controller creates for an owner
may omit what the owner declares; a forged owner has no effect, because the engine's scheduling unit is validated too.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.backends.admission.cel import NAMESPACE, text, texts
from apportion_compiler.backends.admission.engine_table import EngineTable
from apportion_compiler.backends.admission.policy import Validation
from apportion_compiler.backends.admission.workloads import Workload


def workload_validations(workload: Workload, table: EngineTable) -> list[Validation]:
    """Return the validations of one shape of workload."""
    return [
        *_queue(table),
        *_scheduler(workload, table),
        *_priority_class(workload, table),
        *_preemptibility(table),
        *_sharing(table),
        *_resources(workload, table),
        *_requirements(workload, table),
    ]


def _queue(table: EngineTable) -> Iterator[Validation]:
    places = [("queue", f"label {table.queue_label}")] if table.queue_label is not None else []
    places += [(f"queue{n}", f"label {key}") for n, key in enumerate(table.more_queue_labels)]
    places += [(f"noted{n}", f"annotation {key}") for n, key in enumerate(table.queue_annotations)]
    if table.queue_fields:
        places.append(("field", "the workload"))
    for key, place in places:
        yield _unless_unchanged(
            f"variables.named.all(n, n.{key} == '' || n.{key} in variables.queues)",
            f"'{place} references ' + variables.named.filter(n, n.{key} != '' && !(n.{key} in "
            f"variables.queues))[0].{key} + '; workloads in namespace ' + {NAMESPACE} + ' must use ' + "
            "variables.queues.join(' or ')",
        )
    if not places or not table.queue_required:
        return

    def says(what: str) -> str:
        condition = " || ".join(f"{what}.{key} != ''" for key, _ in places)
        return condition if len(places) == 1 else f"({condition})"

    yield _unless_unchanged(
        f"variables.owned || {says('variables.top')} || "
        f"(variables.templates.size() > 0 && variables.templates.all(t, {says('t')}))",
        f"'{places[0][1]} is missing; set it to ' + variables.queues.join(' or ')",
    )


def _scheduler(workload: Workload, table: EngineTable) -> Iterator[Validation]:
    named = [table.scheduler_name, *table.more_schedulers]
    allowed = named if workload.built_in else [*named, ""]
    yield _unless_unchanged(
        f"variables.templates.all(t, t.scheduler in {texts(allowed)})",
        f"'schedulerName must be {' or '.join(named)} in namespace ' + {NAMESPACE}",
    )
    found = workload.templates.replace("{object}", "object")
    yield {
        # A pod gets its node by binding after creation; setting `nodeName` at creation bypasses every scheduler.
        "expression": f"request.operation != 'CREATE' || ({found}).all(t, t.spec.?nodeName.orValue('') == '')",
        "message": "nodeName bypasses the scheduler; use nodeSelector or affinity",
        "reason": "Forbidden",
    }


def _priority_class(workload: Workload, table: EngineTable) -> Iterator[Validation]:
    if not table.preemptible:
        return
    keys = ["class", *(f"class{n}" for n in range(len(table.class_labels)))]
    named = f"[{', '.join(f'n.{key}' for key in keys)}]"
    yield _unless_unchanged(
        f"variables.named.all(n, {named}.all(c, c == '' || c in variables.classes))",
        f"'priority class ' + variables.named.map(n, {named}.filter(c, c != '' && !(c in variables.classes)))"
        f".filter(l, l.size() > 0)[0][0] + ' is not allowed in namespace ' + {NAMESPACE} + '; allowed: ' + "
        "variables.classes.join(', ')",
    )
    default = table.default_class_of.get(workload.name, table.default_class)
    if default is None:
        return
    says = " || ".join(f"t.{key} != ''" for key in keys)
    top_says = " || ".join(f"variables.top.{key} != ''" for key in keys)
    yield _unless_unchanged(
        f"variables.owned || {text(default)} in variables.classes || {top_says} || variables.templates.all(t, {says})",
        f"'a priority class is required: the default, {default}, is not allowed in namespace ' + {NAMESPACE} + "
        "'; allowed: ' + variables.classes.join(', ')",
    )


def _preemptibility(table: EngineTable) -> Iterator[Validation]:
    if table.preemptibility_label is None or not table.preemptible:
        return
    label = table.preemptibility_label
    yes, no = table.preemptible_words
    evictable = texts(sorted(name for name, preemptible in table.preemptible.items() if preemptible))
    protected = texts(sorted(name for name, preemptible in table.preemptible.items() if not preemptible))
    yield _unless_unchanged(
        "variables.named.all(n, n.preemptibility == '' || "
        f"(n.preemptibility == '{yes}' && variables.classes.exists(c, c in {evictable})) || "
        f"(n.preemptibility == '{no}' && variables.classes.exists(c, c in {protected})))",
        f"'label {label} does not match any priority class that is allowed in namespace ' + {NAMESPACE}",
    )
    labels = [f"class{n}" for n in range(len(table.class_labels))]
    # The order of the engine: the owner's label, the pod's label, the pod's field.
    sources = [*(f"variables.top.{key}" for key in labels), *(f"t.{key}" for key in labels), "t.class"]
    chosen = f"([{', '.join(sources)}].filter(c, c != '') + [''])[0]"
    condition = "([variables.top.preemptibility, t.preemptibility].filter(p, p != '') + [''])[0]"
    yield _unless_unchanged(
        f"variables.templates.map(t, [{chosen}, {condition}]).all(c, c[0] == '' || c[1] == '' || "
        f"(c[1] == '{yes}') == (c[0] in {evictable}))",
        f"'label {label} contradicts the priority class; preemptible classes: ' + "
        f"{text(', '.join(sorted(n for n, p in table.preemptible.items() if p)))}",
    )
    if table.must_say:
        needed = "; ".join(f"class {name} requires {yes if table.preemptible[name] else no}" for name in table.must_say)
        yield _unless_unchanged(
            f"variables.owned || variables.templates.map(t, [{chosen}, {condition}])"
            f".all(c, c[1] != '' || !(c[0] in {texts(table.must_say)}))",
            text(f"label {label} is missing: {needed}"),
        )


def _sharing(table: EngineTable) -> Iterator[Validation]:
    if table.sharing_annotations:
        yield _unless_unchanged(
            "variables.mayShare || variables.templates.all(t, t.share == '')",
            f"'workloads in namespace ' + {NAMESPACE} + ' must not request a fraction of a GPU'",
        )


def _resources(workload: Workload, table: EngineTable) -> Iterator[Validation]:
    found = workload.templates.replace("{object}", "object")
    for prefix in table.forbidden_resources:
        lists = ("limits", "requests")
        asked = " && ".join(f"c.?resources.?{of}.orValue({{}}).all(k, !k.startsWith({text(prefix)}))" for of in lists)
        # The API server assigns the two lists different types, so they cannot be concatenated.
        yield {
            "expression": f"request.operation != 'CREATE' || ({found}).all(t, t.spec.containers.all(c, {asked}) && "
            f"t.spec.?initContainers.orValue([]).all(c, {asked}))",
            "message": f"workloads must not request {prefix}* resources, because no quota covers them",
            "reason": "Forbidden",
        }


def _requirements(workload: Workload, table: EngineTable) -> Iterator[Validation]:
    for requirement in table.requirements:
        if requirement.workload == workload.name:
            yield {
                "expression": f"request.operation != 'CREATE' || ({requirement.expression})",
                "message": requirement.message,
                "reason": "Forbidden",
            }


def _unless_unchanged(expression: str, message: str) -> Validation:
    return {
        "expression": f"!variables.changed || ({expression})",
        "messageExpression": message,
        "reason": "Forbidden",
    }

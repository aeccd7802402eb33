"""What YuniKorn reads from a workload, as the table of the admission policies, and two policies of its own.

It reads pods alone. Their queue is their namespace's (the placement rule `tag`), whatever they name, with two ways
around that: YuniKorn finds an application by its id in all namespaces together, so that a pod which names another
team's runs in that team's queue (k8shim 23b6b47f, pkg/cache/context.go, addApplication); and a pod of a namespace that
is not the policy's may come to YuniKorn and name any queue. The first is met by ids that begin with the namespace, the
second by keeping other namespaces' pods from YuniKorn.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kubernetes.operators import SPARK_APP_ID_LABEL
from apportion_api.yunikorn.names import (
    ALLOW_PREEMPTION_ANNOTATION,
    APP_ID_LABEL,
    OLD_APP_ID_LABEL,
    QUEUE_ANNOTATION,
    QUEUE_LABEL,
    SCHEDULER,
    SYSTEM_NAMESPACE,
)
from apportion_compiler.backends.admission.cel import NAMESPACE, text, texts
from apportion_compiler.backends.admission.engine_table import EngineTable, Requirement
from apportion_compiler.backends.admission.policies import namespace_selector, workload_policies
from apportion_compiler.backends.admission.policy import AdmissionPolicy, binding_manifest, policy_manifest
from apportion_compiler.backends.admission.workloads import PODS, WORKLOADS, Workload
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.engines.yunikorn.names import APP_ID_SEPARATOR
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name

_MAX_ID = 63


def admission_policies(program: Program) -> Iterator[Manifest]:
    """Yield the policies on workloads and their bindings."""
    table = engine_table(program)
    yield from workload_policies(program, table)
    outside = AdmissionPolicy(
        "outside-scheduler",
        PODS.rules,
        [
            {
                "expression": f"request.operation != 'CREATE' || object.spec.schedulerName != {text(SCHEDULER)}",
                "messageExpression": f"'namespace ' + {NAMESPACE} + ' does not belong to a queue of the policy, so its pods cannot use "
                f"schedulerName {SCHEDULER}; remove schedulerName'",
                "reason": "Forbidden",
            }
        ],
        namespaces=namespace_selector(table, "DoesNotExist"),
    )
    yield policy_manifest(program, outside)
    yield binding_manifest(program, outside)


def engine_table(program: Program) -> EngineTable:
    """Return the table for one cluster."""
    preemptible = {object_name(cls.name): cls.preemptible for cls in program.priority_classes}
    protected = tuple(sorted(name for name, evictable in preemptible.items() if not evictable))
    return EngineTable(
        scheduler_name=SCHEDULER,
        queue_label=QUEUE_LABEL,
        preemptible=preemptible,
        system_namespaces=(SYSTEM_NAMESPACE,),
        queue_annotations=(QUEUE_ANNOTATION,),
        queue_required=False,
        requirements=tuple(requirement for workload in WORKLOADS for requirement in _requirements(workload, protected)),
    )


def _requirements(workload: Workload, protected: tuple[str, ...]) -> Iterator[Requirement]:
    pods = f"({workload.templates.replace('{object}', 'object')})"
    yield Requirement(
        workload.name,
        f"{pods}.all(t, {_own_application('t')})",
        f"the application id must begin with the namespace and {text(APP_ID_SEPARATOR)}, so that applications of "
        "different namespaces are kept apart",
    )
    noted = f"t.?metadata.?annotations[?{text(ALLOW_PREEMPTION_ANNOTATION)}].orValue('')"
    yield Requirement(
        workload.name,
        f"{pods}.all(t, {noted} != 'false' || t.spec.?priorityClassName.orValue('') in {texts(protected)})",
        f"annotation {ALLOW_PREEMPTION_ANNOTATION} is false, but the priority class is preemptible",
    )


def _own_application(template: str) -> str:
    """Return whether every id is the namespace's own, one that YuniKorn's admission controller makes, or Spark's."""
    labels = f"{template}.?metadata.?labels"
    ids = [
        f"string({labels}[?{text(key)}].orValue(''))" for key in (APP_ID_LABEL, OLD_APP_ID_LABEL, SPARK_APP_ID_LABEL)
    ]
    ids.append(f"string({template}.?metadata.?annotations[?{text(APP_ID_LABEL)}].orValue(''))")
    made = f"('yunikorn-' + {NAMESPACE} + '-autogen')"
    unique = f"({NAMESPACE}.size() > 26 ? {NAMESPACE}.substring(0, 26) : {NAMESPACE}) + '-uniqueautogen'"
    own = " || ".join(
        (
            "i == ''",
            f"i.startsWith({NAMESPACE} + {text(APP_ID_SEPARATOR)})",
            f"i == {made}",
            f"({made}.size() > {_MAX_ID} && i == {made}.substring(0, {_MAX_ID}))",
            f"i == {unique}",
            # Nobody guesses the id that Spark draws.
            "i.matches('^spark-[0-9a-f]{32}$')",
        )
    )
    return f"[{', '.join(ids)}].all(i, {own})"

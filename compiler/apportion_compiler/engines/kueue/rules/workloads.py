"""Rules on a single Workload: ValidateWorkload, and fields that are immutable with reserved quota."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apportion_api.kubernetes.names import SCHEDULING_GROUP
from apportion_api.kueue.names import GROUP
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts, quantity
from apportion_compiler.plain_objects import integer, items, mapping, text

_CONTAINERS = ("initContainers", "containers")
_CLASS_KINDS = {SCHEDULING_GROUP: "PriorityClass", GROUP: "WorkloadPriorityClass"}


def workload_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a Workload, and on its update if it exists."""
    about, spec = FieldVerdicts(index), mapping(manifest, "spec")
    partial = 0
    for number, pod_set in enumerate(items(spec, "podSets")):
        at = f"spec.podSets[{number}]"
        yield from _requests(about, at, mapping(pod_set, "template", "spec"))
        least, count = integer(pod_set, "minCount"), integer(pod_set, "count")
        if least is not None:
            partial += 1
            if least > (1 if count is None else count):
                yield about.rejected(
                    at,
                    "Invalid",
                    "minCount should be positive and less or equal to count",
                    "set minCount to a value from 1 to count",
                )
    if partial > 1:
        yield about.rejected(
            "spec.podSets", "Invalid", "at most one podSet can use minCount", "set minCount for only one pod set"
        )
    reference = mapping(spec, "priorityClassRef")
    if (reference or text(spec, "priorityClassName")) and integer(spec, "priority") is None:
        yield about.rejected(
            "spec",
            "Invalid",
            "priority should not be nil when priorityClassRef is set",
            "set priority to the class's value",
        )
    group = text(reference, "group")
    wanted = _CLASS_KINDS.get(group or "")
    if wanted is not None and text(reference, "kind") != wanted:
        yield about.rejected(
            "spec.priorityClassRef", "Invalid", f"only the {wanted} kind is allowed for the {group} group",
            f"set kind: {wanted}",
        )  # fmt: skip
    if stored is not None and _holds_quota(stored):
        yield from _fixed(about, spec, mapping(stored, "spec"))


def _requests(about: FieldVerdicts, path: str, pod: Mapping[str, object]) -> Iterator[Verdict]:
    for kind in _CONTAINERS:
        for number, container in enumerate(items(pod, kind)):
            for resource, amount in mapping(container, "resources", "requests").items():
                at = f"{path}.template.spec.{kind}[{number}].resources.requests[{resource}]"
                if resource == "pods":
                    yield about.rejected(at, "Invalid", "the key is reserved for internal kueue use", "remove the key")
                asked = quantity(amount)
                if asked is not None and asked < 0:
                    yield about.rejected(
                        at, "Invalid", "must be greater than or equal to 0", "use a value of 0 or more"
                    )


def _holds_quota(stored: Manifest) -> bool:
    conditions = [mapping(condition) for condition in items(stored, "status", "conditions")]
    return any(c.get("type") == "QuotaReserved" and c.get("status") == "True" for c in conditions)


def _fixed(about: FieldVerdicts, spec: Mapping[str, object], before: Mapping[str, object]) -> Iterator[Verdict]:
    for field in ("podSets", "queueName"):
        if spec.get(field) != before.get(field):
            yield about.rejected(
                f"spec.{field}", "Invalid", f"{field} is immutable while workload quota reserved",
                "stop this Workload first, or create a new one",
            )  # fmt: skip
    now, then = mapping(spec, "priorityClassRef"), mapping(before, "priorityClassRef")
    names_fixed = now.get("group") == SCHEDULING_GROUP
    for field in ("group", "kind", *(("name",) if names_fixed else ())):
        if now.get(field) != then.get(field):
            yield about.rejected(
                "spec.priorityClassRef", "Invalid", "priorityClassRef is immutable while workload quota reserved",
                "revert the change",
            )  # fmt: skip
            return

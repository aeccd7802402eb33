"""PriorityClass: what is reserved, what cannot be changed, and that one default is all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_compiler.engine_rules.verdict import Effect, Verdict
from apportion_compiler.engines.native.rules.fault import Fault, rejected
from apportion_compiler.plain_objects import Manifest, integer, name_of, of_kind

_GROUP, _KIND = "scheduling.k8s.io", "PriorityClass"
_HIGHEST = 1_000_000_000
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_POLICIES = ("Never", "PreemptLowerPriority")
_DEFAULT_POLICY = "PreemptLowerPriority"
_INT32 = 2**31


def priority_class(manifest: Manifest, before: Manifest | None) -> Iterator[Fault]:
    """Yield the faults of a PriorityClass."""
    name, value = name_of(manifest), integer(manifest, "value")
    if value is None or not -_INT32 <= value < _INT32:
        yield rejected("value", "Invalid", "the value is not a 32-bit integer", "use an integer")
    elif name.startswith("system-"):
        if _SYSTEM.get(name) != value or manifest.get("globalDefault"):
            yield rejected(
                "metadata.name",
                "Forbidden",
                "priority class names with 'system-' prefix are reserved for system use only",
                "rename the class",
            )
    elif value > _HIGHEST:
        yield rejected(
            "value",
            "Forbidden",
            f"maximum allowed value of a user defined priority is {_HIGHEST}",
            f"lower the value to at most {_HIGHEST}",
        )
    policy = manifest.get("preemptionPolicy")
    if policy is not None and policy not in _POLICIES:
        kind, message = ("Required", "it is empty") if policy == "" else ("NotSupported", f"{policy} is not supported")
        yield rejected("preemptionPolicy", kind, message, f"use {' or '.join(_POLICIES)}")
    if before is not None:
        yield from _changed(manifest, before)


def one_default(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield a verdict on each class that would be a second default."""
    applied = {name_of(manifest) for manifest in of_kind(manifests, _GROUP, _KIND)}
    default = next(
        (
            name_of(held)
            for held in of_kind(existing, _GROUP, _KIND)
            if held.get("globalDefault") is True and name_of(held) not in applied
        ),
        None,
    )
    for manifest in of_kind(manifests, _GROUP, _KIND):
        if manifest.get("globalDefault") is not True:
            continue
        if default is not None and default != name_of(manifest):
            index = next(n for n, other in enumerate(manifests) if other is manifest)
            yield Verdict(
                Effect.REJECTED,
                index,
                "globalDefault",
                "Forbidden",
                f"PriorityClass {default} is already marked as default, and only one default can exist",
                f"remove globalDefault, or remove it from {default} first",
            )
        default = default or name_of(manifest)


def _changed(manifest: Manifest, before: Manifest) -> Iterator[Fault]:
    cure = "create a class with a different name, and move workloads to it"
    if integer(manifest, "value") != integer(before, "value"):
        yield rejected("value", "Forbidden", "may not be changed in an update", cure)
    policies = [held.get("preemptionPolicy") or _DEFAULT_POLICY for held in (manifest, before)]
    if policies[0] != policies[1]:
        yield rejected("preemptionPolicy", "Invalid", "field is immutable", cure)

"""PriorityClass: reserved names and values, immutable fields, and the single default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_api.fields import Manifest
from apportion_api.kubernetes.objects import PriorityClass
from apportion_api.objects import is_a, read, read_all
from apportion_compiler.engine_rules.verdict import Effect, Verdict
from apportion_compiler.engines.native.rules.fault import Fault, rejected

_HIGHEST = 1_000_000_000
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_POLICIES = ("Never", "PreemptLowerPriority")
_DEFAULT_POLICY = "PreemptLowerPriority"
_INT32 = 2**31


def priority_class(manifest: Manifest, before: Manifest | None) -> Iterator[Fault]:
    """Yield the faults of a PriorityClass."""
    cls = read(PriorityClass, manifest)
    name, value = cls.name, cls.value
    if value is None or not -_INT32 <= value < _INT32:
        yield rejected("value", "Invalid", "the value is not a 32-bit integer", "use an integer")
    elif name.startswith("system-"):
        if _SYSTEM.get(name) != value or cls.is_default:
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
        kind, message = (
            ("Required", "the value is empty") if policy == "" else ("NotSupported", f"{policy} is not supported")
        )
        yield rejected("preemptionPolicy", kind, message, f"use {' or '.join(_POLICIES)}")
    if before is not None:
        yield from _changed(manifest, before)


def one_default(manifests: Sequence[Manifest], existing: Sequence[Manifest]) -> Iterator[Verdict]:
    """Yield a verdict on each additional default class."""
    applied = [(index, read(PriorityClass, m)) for index, m in enumerate(manifests) if is_a(PriorityClass, m)]
    names = {cls.name for _, cls in applied}
    default = next(
        (cls.name for cls in read_all(PriorityClass, existing) if cls.is_default and cls.name not in names), None
    )
    for index, cls in applied:
        if not cls.is_default:
            continue
        if default is not None and default != cls.name:
            yield Verdict(
                Effect.REJECTED,
                index,
                "globalDefault",
                "Forbidden",
                f"PriorityClass {default} is already marked as default, and only one default can exist",
                f"remove globalDefault from this class, or from {default} first",
            )
        default = default or cls.name


def _changed(manifest: Manifest, before: Manifest) -> Iterator[Fault]:
    cure = "create a class with a different name, and move workloads to it"
    now, then = read(PriorityClass, manifest), read(PriorityClass, before)
    if now.value != then.value:
        yield rejected("value", "Forbidden", "may not be changed in an update", cure)
    if (now.preemption_policy or _DEFAULT_POLICY) != (then.preemption_policy or _DEFAULT_POLICY):
        yield rejected("preemptionPolicy", "Invalid", "field is immutable", cure)

"""PodGroup (scheduling.run.ai/v2alpha2), where somebody writes one: its webhook's rules on subgroups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kai.names import GROUP
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts, is_kind, unserved
from apportion_compiler.plain_objects import items, mapping, text

_GROUP, _VERSION = GROUP, "v2alpha2"
_PREEMPTIBILITY = ("preemptible", "non-preemptible")


def pod_group_verdicts(index: int, manifest: Manifest) -> Iterator[Verdict]:
    """Yield verdicts on a pod group."""
    if not is_kind(manifest, _GROUP, "PodGroup"):
        return
    about = FieldVerdicts(index)
    yield from unserved(about, manifest, _GROUP, _VERSION)
    spec = mapping(manifest, "spec")
    if text(spec, "queue") is None:
        yield about.pending(
            "spec.queue", "Required", "has no queue, so KAI never schedules it", "set it to a leaf queue"
        )
    preemptibility = spec.get("preemptibility")
    if preemptibility is not None and preemptibility not in _PREEMPTIBILITY:
        yield about.rejected(
            "spec.preemptibility", "NotSupported", f"`{preemptibility}` is not supported",
            f"use {' or '.join(_PREEMPTIBILITY)}",
        )  # fmt: skip
    groups = [mapping(group) for group in items(spec, "subGroups")]
    if spec.get("minMember") and spec.get("minSubGroup") is not None:
        yield about.rejected(
            "spec.minSubGroup", "Invalid", "minMember and minSubGroup are mutually exclusive", "remove one of them"
        )
    yield from _subgroups(about, groups)


def _subgroups(about: FieldVerdicts, groups: Sequence[Mapping[str, object]]) -> Iterator[Verdict]:
    parents = {name: text(group, "parent") for group in groups if (name := text(group, "name")) is not None}
    seen: set[str] = set()
    inner = set(parents.values())
    for number, group in enumerate(groups):
        field, name, parent = f"spec.subGroups[{number}]", text(group, "name"), text(group, "parent")
        if name is None:
            yield about.rejected(f"{field}.name", "Required", "a subgroup must have a name", "set a name")
            continue
        if name in seen:
            yield about.rejected(
                f"{field}.name", "Duplicate", f"duplicate subgroup `{name}`", "give each subgroup a unique name"
            )
        seen.add(name)
        if parent is not None and parent not in parents:
            yield about.rejected(
                f"{field}.parent", "NotFound", f"subgroup `{parent}` does not exist", "use a subgroup of this pod group"
            )
        elif _is_in_cycle(name, parents):
            yield about.rejected(
                f"{field}.parent", "Invalid", f"`{name}` is its own ancestor", "use a different parent"
            )
        if group.get("minMember") and group.get("minSubGroup") is not None:
            yield about.rejected(
                f"{field}.minSubGroup",
                "Invalid",
                "minMember and minSubGroup are mutually exclusive",
                "remove one of them",
            )
        if group.get("minSubGroup") is not None and name not in inner:
            yield about.rejected(f"{field}.minSubGroup", "Invalid", f"`{name}` has no subgroups", "set minMember")


def _is_in_cycle(name: str, parents: Mapping[str, str | None]) -> bool:
    above, seen = parents.get(name), set[str]()
    while above is not None and above not in seen:
        if above == name:
            return True
        seen.add(above)
        above = parents.get(above)
    return False

"""PodGroup (scheduling.run.ai/v2alpha2) that is created explicitly: its webhook's rules on sub-groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kai.names import POD_GROUP_API, PREEMPTIBILITIES
from apportion_api.kai.objects import PodGroup, SubGroup
from apportion_api.objects import is_a, read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kai.rules.fields import FieldVerdicts, unserved


def pod_group_verdicts(index: int, manifest: Manifest) -> Iterator[Verdict]:
    """Yield verdicts on a pod group."""
    if not is_a(PodGroup, manifest):
        return
    group = read(PodGroup, manifest)
    about = FieldVerdicts(index, group.faults)
    yield from unserved(about, manifest, POD_GROUP_API)
    yield from about.mistyped()
    if group.queue is None:
        yield about.pending(
            "spec.queue", "Required", "KAI never schedules a pod group without a queue", "set queue to a leaf queue"
        )
    if group.preemptibility is not None and group.preemptibility not in PREEMPTIBILITIES:
        yield about.rejected(
            "spec.preemptibility", "NotSupported", f"`{group.preemptibility}` is not supported",
            f"use {' or '.join(PREEMPTIBILITIES)}",
        )  # fmt: skip
    if group.min_member and group.min_sub_group is not None:
        yield about.rejected(
            "spec.minSubGroup",
            "Invalid",
            "minMember and minSubGroup are mutually exclusive",
            "remove minMember or minSubGroup",
        )
    yield from _subgroups(about, group.sub_groups)


def _subgroups(about: FieldVerdicts, groups: Sequence[SubGroup]) -> Iterator[Verdict]:
    parents = {group.name: group.parent for group in groups if group.name is not None}
    seen: set[str] = set()
    inner = set(parents.values())
    for number, group in enumerate(groups):
        field, name, parent = f"spec.subGroups[{number}]", group.name, group.parent
        if name is None:
            yield about.rejected(f"{field}.name", "Required", "a sub-group must have a name", "set a name")
            continue
        if name in seen:
            yield about.rejected(
                f"{field}.name", "Duplicate", f"duplicate sub-group `{name}`", "give each sub-group a unique name"
            )
        seen.add(name)
        if parent is not None and parent not in parents:
            yield about.rejected(
                f"{field}.parent",
                "NotFound",
                f"sub-group `{parent}` does not exist",
                "use a sub-group of this pod group",
            )
        elif _is_in_cycle(name, parents):
            yield about.rejected(
                f"{field}.parent", "Invalid", f"`{name}` is its own ancestor", "use a different parent"
            )
        if group.min_member and group.min_sub_group is not None:
            yield about.rejected(
                f"{field}.minSubGroup",
                "Invalid",
                "minMember and minSubGroup are mutually exclusive",
                "remove minMember or minSubGroup",
            )
        if group.min_sub_group is not None and name not in inner:
            yield about.rejected(f"{field}.minSubGroup", "Invalid", f"`{name}` has no sub-groups", "set minMember")


def _is_in_cycle(name: str, parents: Mapping[str, str | None]) -> bool:
    above, seen = parents.get(name), set[str]()
    while above is not None and above not in seen:
        if above == name:
            return True
        seen.add(above)
        above = parents.get(above)
    return False

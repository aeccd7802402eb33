"""Settings that YuniKorn accepts but its scheduler ignores.

Source, at be3bb487: pkg/scheduler/objects/queue.go (applyConf, setResources, UpdateQueueProperties),
pkg/scheduler/placement/rule.go, pkg/common/security/acl.go; k8shim 23b6b47f registers every node in one partition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from apportion_api.durations import parse_duration
from apportion_api.yunikorn.configuration import Partition, PlacementRule, Queue
from apportion_compiler.engines.yunikorn.rules.amounts import parse_amounts
from apportion_compiler.engines.yunikorn.rules.config import DEFAULT_PARTITION
from apportion_compiler.engines.yunikorn.rules.limits import ROOT, WILDCARD
from apportion_compiler.engines.yunikorn.rules.queues import QUEUE_NAME


@dataclass(frozen=True, slots=True)
class Ignored:
    """A setting without effect: its path, the reason, and the remedy."""

    path: str
    message: str
    cure: str


def ignored(partitions: Sequence[Partition]) -> Iterator[Ignored]:
    """Yield the ignored settings of an accepted configuration."""
    if partitions and all(partition.name != DEFAULT_PARTITION for partition in partitions):
        yield Ignored(
            "partitions",
            "all nodes belong to partition default, which does not exist",
            "rename the partition to default",
        )
    for partition in partitions:
        if partition.name != DEFAULT_PARTITION:
            yield Ignored(
                partition.path,
                f"all nodes belong to partition default: {partition.name} has no nodes",
                "move its queues to partition default",
            )
            continue
        for rule in partition.placement_rules or ():
            yield from _rule(rule)
        for queue in partition.queues or ():
            yield from _queue(queue, partition, is_top=True)


def _queue(queue: Queue, partition: Partition, *, is_top: bool) -> Iterator[Ignored]:
    sized = queue.guaranteed or queue.max or queue.max_applications
    if queue.name == ROOT and not is_top and sized:
        yield Ignored(
            queue.path,
            "YuniKorn ignores resources and maxapplications on queues named root",
            "rename the queue",
        )
    elif is_top and queue.max_applications:
        yield Ignored(
            f"{queue.path}.maxapplications",
            "YuniKorn ignores maxapplications on the root queue",
            "set maxapplications on the queues below root",
        )
    elif queue.max and not any(parse_amounts(queue.max, queue.path).values()):
        yield Ignored(
            f"{queue.path}.resources.max",
            "YuniKorn treats a maximum of zero for every resource as unset",
            "set a maximum above zero for at least one resource, or stop the queue",
        )
    for acl, field in ((queue.admin_acl, "adminacl"), (queue.submit_acl, "submitacl")):
        yield from _acl(acl, f"{queue.path}.{field}")
    for key, value in (queue.properties or {}).items():
        yield from _property(key, value, queue.path, partition)
    for child in queue.queues or ():
        yield from _queue(child, partition, is_top=False)


# Stricter than the patterns of limits: pkg/common/security/acl.go.
_ACL_USER = re.compile(r"[_a-zA-Z][a-zA-Z0-9_.@-]*[$]?")
_ACL_GROUP = re.compile(r"[_a-zA-Z][a-zA-Z0-9_-]*")


def _acl(acl: str, path: str) -> Iterator[Ignored]:
    fields = acl.split(" ")
    if len(fields) > 2:
        yield Ignored(
            path,
            f"multiple spaces found in ACL: '{acl}'; the file passes validation but fails to load",
            "use exactly one space, between users and groups",
        )
        return
    for names, pattern, who in zip(fields, (_ACL_USER, _ACL_GROUP), ("user", "group"), strict=False):
        for name in names.split(","):
            if name and name != WILDCARD and not pattern.fullmatch(name):
                yield Ignored(path, f"{name} is not a valid {who} name and is ignored", f"remove {name}")


def _one_of(*words: str) -> Callable[[str], bool]:
    return lambda value: value.lower() in words


def _is_offset(value: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]{1,400}", value) is not None and -(2**31) <= int(value) < 2**31


def _is_count(value: str) -> bool:
    return re.fullmatch(r"[0-9]{1,400}", value) is not None and int(value) < 2**64


def _is_positive_duration(value: str) -> bool:
    try:
        return parse_duration(value) >= Fraction(1, 10**9)
    except ValueError:
        return False


_PROPERTIES: Mapping[str, tuple[Callable[[str], bool], str, str]] = {
    "application.sort.policy": (lambda value: value in ("fifo", "fair", ""), "fifo", "fifo or fair"),
    "application.sort.priority": (_one_of("enabled", "disabled"), "enabled", "enabled or disabled"),
    "priority.policy": (_one_of("default", "fence", ""), "default", "default or fence"),
    "priority.offset": (_is_offset, "0", "a 32-bit integer"),
    "preemption.policy": (_one_of("default", "fence", "disabled", ""), "default", "default, fence or disabled"),
    "preemption.delay": (_is_positive_duration, "30s", "a duration above zero, such as 30s"),
    "quota.preemption.delay": (
        _is_positive_duration,
        "0s, which disables quota preemption",
        "a duration above zero, such as 10m",
    ),
    "application.unschedasks.backoff": (_is_count, "0", "an integer"),
    "application.unschedasks.backoff.delay": (_is_positive_duration, "30s", "a duration above zero, such as 30s"),
}
"""The valid values of each property, its default, and a description of valid values."""

_FAMILIES = ("application.", "priority.", "preemption.", "quota.")


def _property(key: str, value: str, path: str, partition: Partition) -> Iterator[Ignored]:
    at = f"{path}.properties[{key}]"
    known = _PROPERTIES.get(key)
    if known is None:
        # Unknown properties are allowed as notes; one with the prefix of YuniKorn's own is a mistake.
        if key.startswith(_FAMILIES):
            yield Ignored(at, f"YuniKorn has no property {key}", f"use one of {', '.join(_PROPERTIES)}")
        return
    takes, otherwise, words = known
    if not takes(value):
        yield Ignored(at, f'"{value}" is ignored, and {key} defaults to {otherwise}', f"use {words}")
    elif key == "quota.preemption.delay" and not partition.quota_preemption:
        yield Ignored(
            at,
            "lowering the maximum does not evict workloads unless quotapreemptionenabled is true in the partition",
            "set preemption.quotapreemptionenabled: true in the partition",
        )


_RULES = ("user", "provided", "fixed", "tag")


def _rule(rule: PlacementRule) -> Iterator[Ignored]:
    """Yield faults with which YuniKorn accepts the file, but does not load its placement rules."""
    name = rule.name.lower()
    fault, cure = None, ""
    if name not in _RULES:
        fault, cure = f"placement rule {rule.name} is unknown", f"use one of {', '.join(_RULES)}"
    elif name in ("fixed", "tag") and not rule.value:
        fault, cure = f"a {name} rule requires a value", "set `value` in the rule"
    elif name == "fixed" and not all(QUEUE_NAME.fullmatch(part) for part in rule.value.split(".")):
        fault, cure = f"{rule.value} is not a queue path", "set `value` to a path such as root.default"
    elif name == "fixed" and rule.value.lower().startswith(ROOT) and rule.parent is not None:
        fault, cure = f"{rule.value} starts at root, but the rule has a parent", "remove parent"
    if fault is not None:
        yield Ignored(rule.path, f"{fault}, so YuniKorn ignores all placement rules", cure)
    if rule.parent is not None:
        yield from _rule(rule.parent)

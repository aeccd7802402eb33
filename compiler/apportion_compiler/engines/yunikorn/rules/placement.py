"""Checks of placement rules: their names and filters, and whether fixed queues exist (configvalidator.go)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apportion_api.yunikorn.configuration import Filter, Partition, PlacementRule, Queue
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.limits import GROUP, ROOT, USER

FIXED = "fixed"
_RULE_NAME = re.compile(r"[_a-zA-Z][a-zA-Z0-9_]*")
_SPECIAL = re.compile(r"[\^$*+?()\[{}|]")
_UNKNOWN_TO_GO = re.compile(r"\(\?(?:[=!>#(]|<[=!]|P[=>])|\\[1-9]|\\[kZG]|[*+?}]\+|\(\?[a-zA-Z]*[aLux]")
_REPEAT = re.compile(r"[{,]([0-9]+)(?=[,}])")
_MAX_REPEAT = 1000
_UNKNOWN_TO_PYTHON = (
    (re.compile(r"\\z"), r"\\Z"),
    (re.compile(r"\\p(?:[A-Z]|\{\^?[A-Za-z_]+\})", re.IGNORECASE), "x"),
    (re.compile(r"\[:\^?[a-z]+:\]"), "x"),
    (re.compile(r"\(\?<(?=[A-Za-z_])"), "(?P<"),
    (re.compile(r"\\C"), "."),
    (re.compile(r"\(\?[imsU]+(?:-[imsU]+)?\)"), ""),
)


def check_placement_rules(partition: Partition) -> None:
    """Check the rules of a partition with a root queue."""
    rules = partition.placement_rules or ()
    for rule in rules:
        check_placement_rule(rule)
    for path in list(_static_paths(rules)):
        _check_path(path, partition.queues or ())


def check_placement_rule(rule: PlacementRule) -> None:
    """Check a rule and its parent rules."""
    if not _RULE_NAME.fullmatch(rule.name):
        raise ConfigRefusedError(f"invalid rule name {rule.name}, a name must be a valid identifier", rule.path)
    if rule.parent is not None:
        check_placement_rule(rule.parent)
    _check_filter(rule.filter, f"{rule.path}.filter")


def _check_filter(narrowed: Filter, path: str) -> None:
    if narrowed.type and narrowed.type.lower() not in ("allow", "deny"):
        raise ConfigRefusedError(
            f"invalid rule filter type {narrowed.type}, filter type  must be either '', allow or deny", f"{path}.type"
        )
    for who, names, pattern in (("user", narrowed.users, USER), ("group", narrowed.groups, GROUP)):
        # A list of one entry may be a pattern; in a longer list, invalid names are ignored.
        if names is None or len(names) != 1 or pattern.fullmatch(names[0]):
            continue
        if not _SPECIAL.search(names[0]) or not _is_pattern(names[0]):
            raise ConfigRefusedError(
                f"invalid rule filter {who} list is not a proper list or regexp: [{names[0]}]", f"{path}.{who}s"
            )


def _is_pattern(text: str) -> bool:
    """Return whether Go treats a text as a regular expression, approximated by Python's."""
    if _UNKNOWN_TO_GO.search(text) or any(int(n) > _MAX_REPEAT for n in _REPEAT.findall(text)):
        return False
    for pattern, replacement in _UNKNOWN_TO_PYTHON:
        text = pattern.sub(replacement, text)
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class _StaticPath:
    """The fixed part of a rule's path, up to where it depends on the application."""

    number: int
    queue: str
    chain: str
    create: bool
    goes_on: bool
    path: str


def _static_paths(rules: Sequence[PlacementRule]) -> Iterator[_StaticPath]:
    for number, rule in enumerate(rules):
        chain = _chain(rule)
        queue, goes_on = _longest(chain)
        if queue.startswith(ROOT):
            yield _StaticPath(number, queue, "->".join(r.name for r in chain), rule.create, goes_on, rule.path)


def _chain(rule: PlacementRule) -> tuple[PlacementRule, ...]:
    return (*(() if rule.parent is None else _chain(rule.parent)), rule)


def _longest(chain: Sequence[PlacementRule]) -> tuple[str, bool]:
    queue = ""
    for rule in chain:
        if rule.name != FIXED:
            return queue or "<dynamic>", True
        if rule.value.startswith(ROOT):
            if queue:
                raise ConfigRefusedError(
                    f"illegal fully qualified 'fixed' rule with value {rule.value}", f"{rule.path}.value"
                )
            queue = rule.value
        else:
            queue = f"{queue or ROOT}.{rule.value}"
    return queue, False


def _check_path(path: _StaticPath, queues: Sequence[Queue]) -> None:
    rule = f"placement rule no. #{path.number} ({path.chain})"
    fault = _fault(path, queues)
    if fault is None:
        return
    match fault:
        case "leaf":
            raise ConfigRefusedError(f"{rule} references a queue ({path.queue}) which is not a leaf", path.path)
        case "missing":
            raise ConfigRefusedError(
                f"{rule} references non-existing queues ({path.queue}) and create is 'false'", path.path
            )
        case last:
            raise ConfigRefusedError(
                f"{rule} references non-existing queues ({path.queue}) which cannot be created because the last queue "
                f"({last.removeprefix('below ')}) in the hierarchy is a leaf",
                path.path,
            )


def _fault(path: _StaticPath, queues: Sequence[Queue]) -> str | None:
    """Return `leaf` if the named queue has the wrong type, `missing`, or `below <leaf>`; None if it is valid."""
    names = path.queue.lower().split(".")
    above: Queue | None = None
    for number, name in enumerate(names):
        if not queues and above is not None:
            if not above.parent:
                return f"below {above.name}"
            return None if path.create else "missing"
        found = next((queue for queue in queues if queue.name == name), None)
        if found is None:
            return None if path.create else "missing"
        if number == len(names) - 1:
            return None if found.parent == path.goes_on else "leaf"
        above, queues = found, found.queues or ()
    return None

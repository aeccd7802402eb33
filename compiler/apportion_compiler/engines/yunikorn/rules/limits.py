"""Limits of users and groups, alone and relative to ancestors (pkg/common/configs/configvalidator.go at be3bb487)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from apportion_api.yunikorn.configuration import Limit, Queue
from apportion_compiler.engines.yunikorn.rules.amounts import Amounts, amounts_text, fits, least, parse_amounts
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError

ROOT = "root"
WILDCARD = "*"
USER = re.compile(r"[_a-zA-Z][a-zA-Z0-9:#/_.@-]*[$]?")
GROUP = re.compile(r"[_a-zA-Z][a-zA-Z0-9:_.-]*")

Bound = TypeVar("Bound")


def check_limits(limits: Sequence[Limit] | None, queue: Queue) -> None:
    """Check each limit of a queue: its users, and its amounts."""
    users: set[str] = set()
    groups: set[str] = set()
    for limit in limits or ():
        _check_names(limit, users, groups)
        _check_bounds(limit, queue)


def _check_names(limit: Limit, users: set[str], groups: set[str]) -> None:
    if not limit.users and not limit.groups:
        raise ConfigRefusedError(f"empty user and group lists defined in limit '{_go_text(limit)}'", limit.path)
    for name in limit.users or ():
        if name != WILDCARD and not USER.fullmatch(name):
            raise ConfigRefusedError(f"invalid limit user name '{name}' in limit definition", f"{limit.path}.users")
        if name in users:
            raise ConfigRefusedError(f"duplicated user name '{name}', already exists", f"{limit.path}.users")
        users.add(name)
        if WILDCARD in users and name != WILDCARD:
            raise ConfigRefusedError(
                f"should not set no wildcard user {name} after wildcard user limit", f"{limit.path}.users"
            )
    for name in limit.groups or ():
        if name != WILDCARD and not GROUP.fullmatch(name):
            raise ConfigRefusedError(f"invalid limit group name '{name}' in limit definition", f"{limit.path}.groups")
        if name in groups:
            raise ConfigRefusedError(f"duplicated group name '{name}'", f"{limit.path}.groups")
        groups.add(name)
        if WILDCARD in groups and name != WILDCARD:
            raise ConfigRefusedError(
                f"should not set no wildcard group {name} after wildcard group limit", f"{limit.path}.groups"
            )
    if groups == {WILDCARD}:
        raise ConfigRefusedError(
            "should not specify only one group limit that is using the wildcard. "
            "There must be at least one limit with a group name defined ",
            f"{limit.path}.groups",
        )


def _check_bounds(limit: Limit, queue: Queue) -> None:
    amounts: Amounts = {}
    if limit.max_resources:
        amounts = parse_amounts(limit.max_resources, f"{limit.path}.maxresources")
        if not any(amounts.values()):
            raise ConfigRefusedError(
                f"MaxResources should be greater than zero in '{limit.limit}' limit", f"{limit.path}.maxresources"
            )
    if limit.max_applications == 0 and not limit.max_resources:
        raise ConfigRefusedError(
            f"invalid resource combination for limit {limit.limit} all resource limits are null", limit.path
        )
    if 0 < queue.max_applications < limit.max_applications:
        raise ConfigRefusedError(
            f"invalid MaxApplications settings for limit {limit.limit} exceed current the queue MaxApplications",
            f"{limit.path}.maxapplications",
        )
    if queue.name == ROOT:
        return
    try:
        of_queue = parse_amounts(queue.max, f"{queue.path}.resources.max")
    except ConfigRefusedError as refused:
        raise ConfigRefusedError(
            f"parse queue {queue.name} max resource failed: {refused.message}", refused.path
        ) from None
    if not fits(of_queue, amounts):
        raise ConfigRefusedError(
            f"invalid MaxResources settings for limit {limit.limit} exeecd current the queue MaxResources",
            f"{limit.path}.maxresources",
        )


def check_limit_resources(queue: Queue) -> None:
    """Check that no user's limit exceeds that in an ancestor."""
    _descend(queue, {}, {}, _RESOURCES)


def check_limit_max_applications(queue: Queue) -> None:
    """Check that no user's maximum of applications exceeds that in an ancestor; 0 is unlimited."""
    _descend(queue, {}, {}, _APPLICATIONS)


@dataclass(frozen=True, slots=True)
class _Measure(Generic[Bound]):
    """A compared measure of limits: its value, the comparison, the value for descendants, and the message.

    The third argument of `words` is whether the ancestor's limit is that of all users.
    """

    field: str
    bound: Callable[[Limit], Bound]
    over: Callable[[Bound, Bound], bool]
    kept: Callable[[Bound, Bound], Bound]
    words: Callable[[Bound, Bound, str, bool], str]


def _resource_words(bound: Amounts, above: Amounts, queue: str, of_all_users: bool) -> str:  # noqa: FBT001
    whose = (
        f"wildcard maximum resource {amounts_text(above)} of immediate or ancestor parent queue"
        if of_all_users
        else f"immediate or ancestor parent maximum resource {amounts_text(above)}"
    )
    return f"max resource {amounts_text(bound)} of queue {queue} is greater than {whose}"


def _application_words(bound: int, above: int, queue: str, of_all_users: bool) -> str:  # noqa: FBT001
    whose = (
        f"wildcard max applications {above} of immediate or ancestor parent queue"
        if of_all_users
        else f"immediate or ancestor parent max applications {above}"
    )
    return f"max applications {bound} of queue {queue} is greater than {whose}"


_RESOURCES: _Measure[Amounts] = _Measure(
    "maxresources",
    lambda limit: parse_amounts(limit.max_resources, f"{limit.path}.maxresources"),
    lambda bound, above: not fits(above, bound),
    least,
    _resource_words,
)
_APPLICATIONS: _Measure[int] = _Measure(
    "maxapplications",
    lambda limit: limit.max_applications,
    lambda bound, above: above != 0 and (above < bound or bound == 0),
    lambda bound, above: bound,
    _application_words,
)


def _descend(
    queue: Queue, users_above: Mapping[str, Bound], groups_above: Mapping[str, Bound], measure: _Measure[Bound]
) -> None:
    """Compare a queue's limits with those of the nearest ancestor for the same user or group, or for all."""
    users, groups = dict(users_above), dict(groups_above)
    for limit in queue.limits or ():
        bound = measure.bound(limit)
        for who, names, above, here in (
            ("user", limit.users, users_above, users),
            ("group", limit.groups, groups_above, groups),
        ):
            for name in names or ():
                named = name in above
                key = name if named else WILDCARD
                if key in above and measure.over(bound, above[key]):
                    words = measure.words(bound, above[key], queue.name, not named)
                    raise ConfigRefusedError(f"{who} {name} {words}", f"{limit.path}.{measure.field}")
                here[name] = measure.kept(bound, above[name]) if named else bound
    for child in queue.queues or ():
        _descend(child, users, groups, measure)


def _go_text(limit: Limit) -> str:
    resources = limit.max_resources or {}
    amounts = " ".join(f"{name}:{resources[name]}" for name in sorted(resources))
    users, groups = (" ".join(names or ()) for names in (limit.users, limit.groups))
    return f"{{{limit.limit} [{users}] [{groups}] map[{amounts}] {limit.max_applications}}}"

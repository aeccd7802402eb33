"""Checks of the queue tree: its root, names, access lists, amounts and counts (configvalidator.go at be3bb487)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from apportion_api.yunikorn.configuration import Partition, Queue
from apportion_compiler.engines.yunikorn.rules.amounts import (
    Amounts,
    amounts_text,
    fits,
    is_zero,
    least,
    parse_amounts,
    total,
)
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.limits import ROOT, WILDCARD, check_limits

QUEUE_NAME = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")
_INVALID_NAME = (
    "invalid queue name, max 64 characters consisting of alphanumeric characters and "
    "'-', '_', '#', '@', '/', ':' allowed"
)


def with_root(partition: Partition) -> Partition:
    """Return the partition with exactly one top-level queue, `root`, which is added if missing."""
    if partition.queues is None:
        raise ConfigRefusedError("queue config is not set", partition.path)
    tops = partition.queues
    if len(tops) == 1 and tops[0].name.lower() == ROOT:
        root = replace(tops[0], parent=True)
    else:
        root = Queue(ROOT, parent=True, queues=tops, path=partition.path)
    if root.guaranteed is not None or root.max is not None:
        raise ConfigRefusedError("root queue must not have resource limits set", f"{root.path}.resources")
    return replace(partition, queues=(root,))


def root_of(partition: Partition) -> Queue:
    """Return the only top-level queue of a validated partition."""
    queues = partition.queues
    assert queues is not None
    return queues[0]


def with_limits_on_root(partition: Partition) -> Partition:
    """Return the partition with its limits on the root queue. If both have limits, these must be equal."""
    (root,) = partition.queues or (Queue(),)
    if partition.limits and root.limits and partition.limits != root.limits:
        raise ConfigRefusedError(
            "partition limits and root queue limits are not equivalent", f"{partition.path}.limits"
        )
    if partition.limits and not root.limits:
        return replace(partition, queues=(replace(root, limits=partition.limits),))
    return partition


def check_queues(queue: Queue, level: int) -> None:
    """Check a queue's access lists and limits, its children's names, and then each child."""
    for acl, field in ((queue.admin_acl, "adminacl"), (queue.submit_acl, "submitacl")):
        _check_acl(acl, f"{queue.path}.{field}")
    check_limits(queue.limits, queue)
    names: set[str] = set()
    for child in queue.queues or ():
        if not QUEUE_NAME.fullmatch(child.name):
            raise ConfigRefusedError(_INVALID_NAME, f"{child.path}.name")
        if child.name.lower() in names:
            raise ConfigRefusedError(
                f"duplicate child name found with name '{child.name}', level {level}", f"{child.path}.name"
            )
        names.add(child.name.lower())
    for child in queue.queues or ():
        check_queues(child, level + 1)


def _check_acl(acl: str, path: str) -> None:
    trimmed = acl.strip()
    if trimmed not in ("", WILDCARD) and len(trimmed.split()) > 2:
        raise ConfigRefusedError(f"multiple spaces found in ACL: '{trimmed}'", path)


def check_queue_resources(queue: Queue, above: Amounts | None = None) -> Amounts:
    """Check amounts recursively, and return the guarantee of a queue: its own, else the sum of its children's.

    Args:
        queue: The top of the subtree.
        above: The smallest maximum of its ancestors for each resource; None at the top.
    """
    guaranteed = parse_amounts(queue.guaranteed, f"{queue.path}.resources.guaranteed")
    most: Mapping[str, int] = parse_amounts(queue.max, f"{queue.path}.resources.max")
    if not fits(most, guaranteed):
        raise ConfigRefusedError(
            f"guaranteed resource {amounts_text(guaranteed)} is larger than maximum resource {amounts_text(most)} "
            f"for queue {queue.name}",
            f"{queue.path}.resources",
        )
    if not fits(above or {}, most):
        raise ConfigRefusedError(
            f"max resource of parent {amounts_text(above or {})} is smaller than maximum resource "
            f"{amounts_text(most)} for queue {queue.name}",
            f"{queue.path}.resources.max",
        )
    most = least(most, above or {})
    guarantees: Amounts = {}
    for child in queue.queues or ():
        guarantees = total(guarantees, check_queue_resources(child, most))
    for bound, words in (
        (guaranteed, f"guaranteed resource of parent {amounts_text(guaranteed)}"),
        (most, f"max resource {amounts_text(most)}"),
    ):
        if not fits(bound, guarantees):
            raise ConfigRefusedError(
                f"{words} is smaller than sum of guaranteed resources {amounts_text(guarantees)} of the children "
                f"for queue {queue.name}",
                f"{queue.path}.resources",
            )
    return guarantees if is_zero(guaranteed) else guaranteed


def check_max_applications(queue: Queue) -> None:
    """Check that every child of a queue with a maximum of applications has one, and no greater one."""
    for child in queue.queues or ():
        if 0 < queue.max_applications < child.max_applications:
            raise ConfigRefusedError(
                "parent maxApplications must be larger than child maxApplications", f"{child.path}.maxapplications"
            )
        if queue.max_applications and not child.max_applications:
            raise ConfigRefusedError(
                "maxApplications is either undefined or zero, which is not allowed when parent queue's "
                "maxApplications is defined",
                f"{child.path}.maxapplications",
            )
        check_max_applications(child)

"""The queue of an application, by the placement rules `tag` and `provided`.

Source: yunikorn-core pkg/scheduler/placement (placement.go, tag_rule.go, provided_rule.go, recovery_rule.go) at be3bb487.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from apportion_api.yunikorn.names import ROOT_QUEUE
from apportion_runtime.engines.yunikorn.partition import RECOVERY_QUEUE, RefusedError
from apportion_runtime.engines.yunikorn.queues import Queue

TAG, PROVIDED = "tag", "provided"
FORCED_TAG = "application.create.force"
"""Tag of an application whose first pod has a node already; it is `true` or `false`."""
_DEFAULT_QUEUE = f"{ROOT_QUEUE}.default"
_DOT = "_dot_"
_NAME = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")


def place(
    rules: Sequence[tuple[str, str]],
    queues: Mapping[str, Queue],
    tags: Mapping[str, str],
    provided: str,
    recovery: Callable[[], Queue],
) -> Queue:
    """Return the queue of a new application.

    Without a match, an application that runs already is placed in the recovery queue, any other in `root.default`.

    Args:
        rules: The names of the rules in order, each with its value.
        queues: The queues, by path.
        tags: The tags of the application, by name in lower case.
        provided: The queue that its first pod names; empty if it names none.
        recovery: Returns the recovery queue, and creates it if necessary.

    Raises:
        RefusedError: If no rule matches, or a name is invalid.
    """
    for name, value in rules:
        named = tags.get(value, "") if name == TAG else provided
        found = queues.get(_path(named)) if named else None
        if found is not None and found.is_leaf and (found.name != RECOVERY_QUEUE or is_forced(tags)):
            return found
    if is_forced(tags):
        return recovery()
    found = queues.get(_DEFAULT_QUEUE)
    if found is not None and found.is_leaf:
        return found
    raise RefusedError("application rejected: no placement rule matched")


def is_forced(tags: Mapping[str, str]) -> bool:
    """Return whether the first pod of an application has a node already."""
    return tags.get(FORCED_TAG) == "true"


def _path(named: str) -> str:
    """Return the path of a queue; a name that does not begin at the root is that of a queue below it."""
    is_path = named.startswith(f"{ROOT_QUEUE}.")
    parts = named.split(".") if is_path else [ROOT_QUEUE, named.replace(".", _DOT)]
    for part in parts:
        if not _NAME.fullmatch(part):
            raise RefusedError(f"invalid queue name {part}")
    return ".".join(parts).lower()

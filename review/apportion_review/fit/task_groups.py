"""YuniKorn's task groups of a workload: the annotation with the minimum and the requests of each gang."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from apportion_api.yunikorn.names import TASK_GROUPS_ANNOTATION

Group = Mapping[str, object]


def change_task_groups(marks: dict[str, object], change: Callable[[Group], Group]) -> None:
    """Change each task group in some annotations; an annotation that is not a JSON list is kept."""
    written = marks.get(TASK_GROUPS_ANNOTATION)
    try:
        groups = json.loads(str(written)) if written is not None else None
    except ValueError:
        return
    if not isinstance(groups, list):
        return
    changed = [dict(change(group)) if isinstance(group, dict) else group for group in groups]
    if changed != groups:
        marks[TASK_GROUPS_ANNOTATION] = json.dumps(changed, separators=(",", ":"))


def with_fewer_members(group: Group, most: int) -> Group:
    """Return a group whose minimum does not exceed a number of pods."""
    least = group.get("minMember")
    return {**group, "minMember": most} if isinstance(least, int) and least > most else group

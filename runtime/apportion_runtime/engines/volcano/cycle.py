"""One cycle of Volcano's scheduler: its actions in their order."""

from __future__ import annotations

from collections.abc import Iterable

from apportion_api.volcano.configuration import SchedulerConfiguration
from apportion_runtime.engines.volcano import allocation_actions as allocating
from apportion_runtime.engines.volcano import eviction_actions
from apportion_runtime.engines.volcano.amounts import Amounts
from apportion_runtime.engines.volcano.capacity import Capacity, QueueSpec
from apportion_runtime.engines.volcano.session import Session

_ACTIONS = {
    "enqueue": allocating.enqueue,
    "allocate": allocating.allocate,
    "backfill": allocating.backfill,
    eviction_actions.PREEMPT: eviction_actions.preempt,
    eviction_actions.RECLAIM: eviction_actions.reclaim,
}


def open_capacity(specs: Iterable[QueueSpec], resources: Amounts, configuration: SchedulerConfiguration) -> Capacity:
    """Return the queues at the start of a cycle, with the configuration of the capacity plugin."""
    return Capacity(
        specs, resources, hierarchy=configuration.has_hierarchy, ancestor_level=configuration.ancestor_level
    )


def run_actions(session: Session) -> None:
    """Run the actions on a session."""
    for action in session.configuration.actions:
        _ACTIONS[action](session)

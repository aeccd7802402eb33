"""The records of a victim search: its input, the state that its tries share, and a solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.nodes import Mask
from apportion_runtime.core.resources import Vector
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Allocation
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.simulation_order import PendingOrder
from apportion_runtime.core.statement import Statement
from apportion_runtime.core.task import Task

Validator = Callable[[Scenario], bool]
Batches = list[list[Task]]


@dataclass(frozen=True, slots=True)
class VictimSearch:
    """A search for victims.

    Attributes:
        job: The job that needs room.
        victims: Returns the order of jobs that may be evicted.
        validator: The action's check of a scenario that makes room. With the same victims, it accepts fewer pods of the
            job if it accepts more: their resources are fewer.
        action: Its name, for the record.
    """

    job: Job
    victims: Callable[[], JobOrder]
    validator: Validator
    action: str


@dataclass(slots=True)
class SearchState:
    """The state of a search, shared by its tries, each of which is undone before the next.

    Attributes:
        session: The session.
        victim_search: The search.
        tasks: Pods of the next step.
        claims: What the claims of each of these pods held when the search began.
        feasible: Nodes that are considered without any eviction.
        victims: The order of jobs that may be evicted; rewound for each try.
        waiting: Jobs with pending pods.
        free_gpus: Devices free on each node when the search began, valid until `dirtied_session`.
        failed: Scenarios that are known to fail.
        dirtied_session: Whether undoing a try may not have restored the session exactly.
    """

    session: Session
    victim_search: VictimSearch
    tasks: Sequence[Task]
    claims: Sequence[dict[str, Allocation | None]]
    feasible: Mask
    victims: JobOrder
    waiting: PendingOrder
    free_gpus: Vector
    failed: set[object]
    dirtied_session: bool = False

    def order_of_victims(self) -> JobOrder:
        """Return the order of victims from its beginning.

        The engine fills it again for each try. Rewinding gives the same order as long as no share and no job changed.
        """
        return self.victim_search.victims() if self.dirtied_session else self.victims.rewind()


class Solution(NamedTuple):
    """A try that made room: its statement and its victims.

    Attributes:
        statement: Its operations, the evictions first.
        victims: The evicted pods, in order.
        batches: The victims that were not placed again, in the batches in which they were added.
        is_settled: Whether a try with just these victims would be the same.
        is_plain: Whether the job came first and left its victims too little room to be placed again.
    """

    statement: Statement
    victims: Sequence[Task]
    batches: Batches
    is_settled: bool
    is_plain: bool

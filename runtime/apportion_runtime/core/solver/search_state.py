"""A search for victims: what it is asked, the state its tries share, and a try that succeeded."""

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
from apportion_runtime.core.solver.simulation_order import Waiting
from apportion_runtime.core.statement import Statement
from apportion_runtime.core.task import Task

Validator = Callable[[Scenario], bool]
Batches = list[list[Task]]


@dataclass(frozen=True, slots=True)
class VictimSearch:
    """A search for victims.

    Attributes:
        job: The job that wants room.
        victims: Makes an order of those who may be evicted.
        validator: The action's own word on a scenario that makes room.
        action: Its name, for the record.
    """

    job: Job
    victims: Callable[[], JobOrder]
    validator: Validator
    action: str


@dataclass(slots=True)
class SearchState:
    """The state of a search: what is the same in each try, as each is taken back before the next.

    Attributes:
        session: The session.
        victim_search: The search.
        tasks: Pods of the next step.
        claims: What the claims of each of these pods held when the search began.
        feasible: Nodes that come into question without any eviction.
        victims: Those who may be evicted; each try takes from it and has it rewound.
        waiting: Jobs with pods that wait.
        free_gpus: Devices free on each node when the search began, good while no try has left a trace.
        failed: Scenarios that are known to fail.
        dirtied_session: Whether a try that was taken back may have left the session other than it was.
    """

    session: Session
    victim_search: VictimSearch
    tasks: Sequence[Task]
    claims: Sequence[dict[str, Allocation | None]]
    feasible: Mask
    victims: JobOrder
    waiting: Waiting
    free_gpus: Vector
    failed: set[object]
    dirtied_session: bool = False

    def order_of_victims(self) -> JobOrder:
        """Return the order of victims from its beginning.

        The engine fills it anew for each try. To rewind it comes to the same as long as no share and no job differs
        from what it was.
        """
        return self.victim_search.victims() if self.dirtied_session else self.victims.rewind()


class Solution(NamedTuple):
    """A try that made room: what was done, and its victims by the batches they came in.

    Attributes:
        statement: What was done, the evictions first.
        victims: Who was evicted, in order.
        batches: Those who did not come back, by the batches they came in.
        is_settled: Whether another try with just these victims would be the same try.
        is_plain: Whether the job came first and left its victims too little room to come back.
    """

    statement: Statement
    victims: Sequence[Task]
    batches: Batches
    is_settled: bool
    is_plain: bool

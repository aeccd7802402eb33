"""Simulate a scenario: evict its victims, place the job and the victims in order, and keep what makes room.

Source: pkg/scheduler/actions/common/solvers/by_pod_solver.go, actions/common/action.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from operator import is_
from typing import NamedTuple

import numpy as np

from apportion_runtime.core.allocation import place_job
from apportion_runtime.core.job import Job
from apportion_runtime.core.node_fit import fits
from apportion_runtime.core.nodes import Indices, Mask
from apportion_runtime.core.resources import Vector
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.search_state import Batches, SearchState, Solution
from apportion_runtime.core.solver.simulation_order import simulation_order
from apportion_runtime.core.statement import Statement
from apportion_runtime.core.status import PIPELINED, RELEASING
from apportion_runtime.core.task import NO_NODE, REGULAR, Task


def simulate(
    state: SearchState,
    scenario: Scenario,
    feasible: Mask,
    smaller: Sequence[Scenario] = (),
    statement: Statement | None = None,
) -> Solution | None:
    """Simulate a scenario.

    Args:
        state: The search.
        scenario: The scenario to simulate.
        feasible: Nodes that are considered without any eviction.
        smaller: Scenarios of fewer pods with the same victims, which would fail only by the job's place in the order.
        statement: The evictions if they are already applied; they are undone if the try fails.
    """
    session, victim_search = state.session, state.victim_search
    chosen = scenario.victims()
    # The engine gives up on scenarios with a victim on a node that does not exist.
    if not chosen or any(task.node == NO_NODE for task in chosen):
        return None
    dirties_session = _dirties_session(session, scenario)
    state.dirtied_session |= dirties_session
    # Evicted pods keep their nodes, so these are known before the pods are placed again.
    reachable = feasible.copy()
    reachable[[task.node for task in chosen]] = True
    nodes = np.flatnonzero(reachable)
    if statement is None:
        if not dirties_session and scenario.potential and _has_no_node(session, scenario, nodes):
            return None
        if session.search_limit is not None:
            session.search_limit.spend(len(chosen))
        statement = session.statement()
        _evict(state, statement, chosen)
    involved = {task.job for task in chosen}
    if not all(_comes_first(state, other, involved) for other in smaller):
        statement.discard()
        return None
    placed = _place_all(state, statement, scenario, involved, nodes)
    if placed is _PreemptorOutcome.NOT:
        statement.discard()
        return None
    evicted = _evicted(chosen)
    if not victim_search.validator(scenario):
        statement.discard()
        return None
    batches = _batches_of(evicted, scenario)
    is_same = not scenario.potential and [task for batch in batches for task in batch] == scenario.recorded
    is_plain = placed is _PreemptorOutcome.ALONE and not dirties_session
    return Solution(statement, chosen, batches, is_same and not dirties_session, is_plain)


def _evict(state: SearchState, statement: Statement, victims: Sequence[Task]) -> None:
    for task in victims:
        statement.evict(task, (state.victim_search.action, state.victim_search.job.uid))


class EvictionsAlone(NamedTuple):
    """The evictions of an attempt.

    Attributes:
        statement: Its statement.
        free_gpus: The free devices of each node before the evictions.
        is_as_before: Whether the session is as it was in the attempt before any pod was placed.
    """

    statement: Statement
    free_gpus: Vector
    is_as_before: bool


def evictions_alone(state: SearchState, made: Solution, victims: Sequence[Task]) -> EvictionsAlone:
    """Reduce an attempt to the evictions of the given victims, in order."""
    statement, session = made.statement, state.session
    is_same = len(victims) == len(made.victims) and all(map(is_, victims, made.victims))
    if is_same and not state.dirtied_session:
        statement.rollback(len(victims))
        for uid in {task.job for task in victims}:
            session.jobs[uid].invalidate()
        charged = session.shares.queues[state.victim_search.job.queue].path if session.keeps_shares else ()
        # Only whole numbers are restored exactly.
        is_as_before = all(amount % 1 == 0 for queue in charged for amount in queue.allocated)
        return EvictionsAlone(statement, state.free_gpus, is_as_before=is_as_before)
    statement.discard()
    free_gpus = session.nodes.free_gpus()
    _evict(state, statement, victims)
    return EvictionsAlone(statement, free_gpus, is_as_before=False)


def _has_no_node(session: Session, scenario: Scenario, nodes: Indices) -> bool:
    """Return whether a pod of the job fits on no node even before a victim comes back: then the try is bound to fail.

    Used only if a failed try restores the session exactly.
    """
    table = session.nodes
    if not table.is_whole:
        return False
    free = table.idle[nodes] + table.releasing[nodes]
    for task in scenario.victims():
        free[np.searchsorted(nodes, task.node)] += task.accepted
    by_shape = {task.shape: task for task in scenario.pending}
    return not all(
        (fits(table, task, free, nodes) & session.predicates.mask(task)[nodes]).any() for task in by_shape.values()
    )


def _dirties_session(session: Session, scenario: Scenario) -> bool:
    """Return whether the session may differ from before once the try is taken back: the same try might end otherwise.

    The engine does not restore shared devices, resource claims and pods that it evicted twice exactly. Whole numbers of
    CPU, memory and devices are restored. With pod affinity it keeps which pods skip the predicate since the first call.
    """
    victims = scenario.victims()
    return (
        "numa" in session.plugins
        or session.predicates.skips_predicates
        or any(task.kind != REGULAR or task.claims for task in (*scenario.pending, *victims))
        or len({task.uid for task in victims}) < len(victims)
    )


def _evicted(chosen: Sequence[Task]) -> list[Task]:
    """Return the victims that did not get their place back, those that wait for another one last.

    Of a pod that occurs several times, the first copy gets its place back and the last one another place: the other
    copies count as evicted.
    """
    last = {task.uid: number for number, task in enumerate(chosen)}
    seen: set[str] = set()
    evicted: list[Task] = []
    moved: list[Task] = []
    for number, task in enumerate(chosen):
        if task.status == PIPELINED:
            (moved if number == last[task.uid] else evicted).append(task)
        elif task.status == RELEASING or task.uid in seen:
            evicted.append(task)
        seen.add(task.uid)
    return [*evicted, *moved]


def _batches_of(tasks: Sequence[Task], scenario: Scenario) -> Batches:
    """Return the complete batches of victims, each once."""
    found: Batches = []
    seen: set[str] = set()
    for task in tasks:
        if task.uid not in seen:
            batch = list({other.uid: other for other in scenario.batch_of(task)}.values())
            seen.update(other.uid for other in batch)
            found.append(batch)
    return found


class _PreemptorOutcome(Enum):
    """The outcome for the preemptor: `ALONE` if it came first and none of its victims could be placed again."""

    NOT = auto()
    ALONE = auto()
    AMONG_VICTIMS = auto()


def _place_all(
    state: SearchState, statement: Statement, scenario: Scenario, involved: set[str], nodes: Indices
) -> _PreemptorOutcome:
    """Place the preemptor and its victims in the order of jobs: a victim may come first and stay."""
    session, preemptor = state.session, scenario.preemptor
    order = simulation_order(session, state.waiting, preemptor, involved)
    left = {*involved, preemptor.uid}
    placed = is_moved = False
    while order and left:
        if placed and is_moved and not any(_might_fit(session, session.jobs[uid], nodes) for uid in left):
            return _PreemptorOutcome.ALONE if len(left) == len(involved) else _PreemptorOutcome.AMONG_VICTIMS
        is_moved = False
        job = order.pop_past(left)
        if job.uid not in left:
            continue
        left.discard(job.uid)
        is_moved = True
        # The validator uses the request from before the placement.
        job.init_vector(session.min_device_memory)
        if job.uid == preemptor.uid:
            if not place_job(session, statement, nodes, job, pipeline_only=True):
                return _PreemptorOutcome.NOT
            placed = True
        elif not place_job(session, statement, nodes, job, pipeline_only=True):
            # The engine computes the next step while the evictions are simulated, and keeps the result: see
            # `Job.tasks_to_allocate`.
            job.tasks_to_allocate(real=False)
    return _PreemptorOutcome.AMONG_VICTIMS if placed else _PreemptorOutcome.NOT


def _might_fit(session: Session, job: Job, nodes: Indices) -> bool:
    """Return whether a victim's next step may be placed again: not if all nodes together lack the resources.

    A job that cannot be placed need not be reached in the order. A job with pending pods is: its request computed here is
    kept, and decides its place among pending jobs until its pods change.
    """
    if "numa" in session.plugins or job.n_pending:
        return True
    tasks = job.tasks_to_allocate(real=False)
    if any(task.kind != REGULAR or task.claims for task in tasks):
        return True
    if any(task.uid in session.decided.moved for task in tasks):
        # A moved pod needs no room on the node it left: the engine then undoes its eviction.
        return True
    table = session.nodes
    free = (table.idle[nodes] + table.releasing[nodes]).clip(min=0).sum(axis=0)
    asked = sum((task.request for task in tasks[1:]), start=tasks[0].request) if tasks else 0 * free
    return bool((asked <= free).all())


def _comes_first(state: SearchState, scenario: Scenario, involved: set[str]) -> bool:
    """Return whether the preemptor comes before all of its evicted victims in the order of jobs."""
    session, preemptor = state.session, scenario.preemptor
    preemptor.init_vector(session.min_device_memory)
    order = simulation_order(session, state.waiting, preemptor, involved)
    left = {*involved, preemptor.uid}
    first = next((job.uid for job in iter(lambda: order.pop_past(left), None) if job.uid in left), None)
    for uid in involved:
        session.jobs[uid].invalidate()
    return first == preemptor.uid

"""Find victims for a job: for how many of its pods can room be made, and by whom.

The number of pods is searched by doubling and halving; the victims of each success are evicted first in the next try.

Source: pkg/scheduler/actions/common/solvers (job_solver.go, by_pod_solver.go), actions/common/action.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from operator import is_
from typing import NamedTuple

import numpy as np

from apportion_runtime.core.allocation import place_job
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.nodes import Indices, Mask
from apportion_runtime.core.resources import Vector
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Allocation
from apportion_runtime.core.solver.filters import filters_for
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.scenario_generators import GENERATORS, ScenarioInput, passes
from apportion_runtime.core.solver.simulation_order import Waiting, simulation_order, waiting_jobs
from apportion_runtime.core.statement import Statement
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES, PIPELINED, RELEASING
from apportion_runtime.core.sub_groups import SubGroupSet
from apportion_runtime.core.task import NO_NODE, REGULAR, Task

Validator = Callable[[Scenario], bool]
_Batches = list[list[Task]]


def feasible_nodes(session: Session, job: Job) -> Mask:
    """Return the nodes with any GPU free; all of them for a job with a pod that asks for none."""
    nodes = session.nodes
    if any(not task.needs_gpu for task in job.tasks.values()):
        return np.ones(len(nodes), dtype=bool)
    return np.asarray((nodes.idle_gpus() > 0) | (nodes.releasing_gpus() > 0))


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
class _SearchState:
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
        left_traces: Whether a try that was taken back may have left the session other than it was.
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


def solve(session: Session, victim_search: VictimSearch) -> Statement | None:
    """Return a statement that evicts victims and has the job's next step wait for their places.

    The session is as before where nothing is found.
    """
    job = victim_search.job
    used_before = job.n_active_used
    tasks = list(job.tasks_to_allocate(real=False))
    if not tasks:
        return None
    victims = victim_search.victims().rewindable()
    if not victims:
        return None
    claims = [task.claims for task in tasks]
    state = _SearchState(
        session,
        victim_search,
        tasks,
        claims,
        feasible_nodes(session, job),
        victims,
        waiting_jobs(session),
        session.nodes.free_gpus(),
        set(),
    )
    for name in session.settings.generators:
        solution = _solve_with(state, name)
        if solution is not None:
            # A gang of which only some parts are needed fails this test although it was placed: the engine then
            # neither commits nor takes back, and the session keeps the phantom until the cycle ends.
            return solution.statement if job.is_gang_satisfied and job.n_active_used > used_before else None
    return None


class _Solution(NamedTuple):
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
    batches: _Batches
    is_settled: bool
    is_plain: bool


def _solve_with(state: _SearchState, generator: str) -> _Solution | None:
    """Find for how many pods room can be made, then make it for all; the victims of each success go first after it."""
    n = len(state.tasks)
    recorded: _Batches = []
    kept: _Solution | None = None

    def succeeds(k: int) -> bool:
        nonlocal kept
        if kept is not None:
            return True
        solution = _probe(state, generator, k, recorded)
        if solution is None:
            return False
        recorded[:] = solution.batches
        if k == n and solution.is_settled:
            kept = solution
            return True
        if k < n and solution.is_plain and state.victim_search.job.is_flat:
            kept = _leap(state, k, solution)
        else:
            solution.statement.discard()
        return True

    if not _largest(n, succeeds):
        return None
    return kept if kept is not None else _probe(state, generator, n, recorded)


def _largest(n: int, succeeds: Callable[[int], bool]) -> int:
    """Return for how many pods of `n` room can be made, by doubling and halving."""
    low, high = 0, 1
    while succeeds(high):
        low = high
        if low == n:
            return n
        high = min(high * 2, n)
    while high - low > 1:
        middle = (low + high) // 2
        if succeeds(middle):
            low = middle
        else:
            high = middle
    return low


def _probe(state: _SearchState, generator: str, n: int, recorded: _Batches) -> _Solution | None:
    """Try with some of the pods.

    The engine tries with copies of them: they remember what their claims held when the search began, on whatever node
    that was, and replace the pods themselves once one was placed.
    """
    pending = state.tasks[:n]
    before = [task.claims for task in pending]
    for task, claims in zip(pending, state.claims, strict=False):
        task.claims = claims
    solution = _first_solution(state, generator, n, recorded)
    for task, claims, own in zip(pending, state.claims, before, strict=False):
        if task.claims is claims:
            task.claims = own
    return solution


def _first_solution(state: _SearchState, generator: str, n: int, recorded: _Batches) -> _Solution | None:
    session, victim_search = state.session, state.victim_search
    partial = _partial(victim_search.job, state.tasks[:n])
    before = [list(batch) for batch in recorded]
    nodes = state.feasible.copy()
    nodes[[task.node for batch in before for task in batch if task.node != NO_NODE]] = True
    search = ScenarioInput(session, partial, before, state.order_of_victims, nodes)
    for scenario in GENERATORS[generator](search):
        key = scenario.fingerprint()
        if key in state.failed:
            continue
        solution = _simulate(state, scenario, nodes)
        if solution is not None:
            return solution
        state.failed.add(key)
    return None


def _leap(state: _SearchState, k: int, made: _Solution) -> _Solution | None:
    """Make room for all pods by evicting those who made room for `k`; None where the numbers between have to be tried.

    These would succeed with the same victims. As pods of a flat job are placed one after the other without regard to their
    number, those of a smaller number stand as the first of all do; they ask their queues for less, and leave the victims
    no more room than `k` did, which was too little. What is left to ask of each is whether the filters let it pass,
    whether the job comes first, and the action's own word.
    """
    session, job, n = state.session, state.victim_search.job, len(state.tasks)
    numbers = [k]
    while numbers[-1] < n:
        numbers.append(min(numbers[-1] * 2, n))
    recorded = made.batches
    victims = [task for batch in recorded for task in batch]
    statement, free_gpus = _evictions(state, made, victims)
    nodes = state.feasible.copy()
    nodes[[task.node for task in victims if task.node != NO_NODE]] = True
    scenarios: list[Scenario] = []
    for number in numbers[1:]:
        partial = _partial(job, state.tasks[:number])
        scenario = Scenario(session, partial, partial.tasks_to_allocate(real=False), [list(each) for each in recorded])
        if not passes(filters_for(session, scenario, nodes, free_gpus), scenario):
            statement.discard()
            return None
        scenarios.append(scenario)
    solution = _simulate(state, scenarios[-1], nodes, scenarios[:-1], statement)
    if solution is None or (solution.is_settled and solution.is_plain):
        return solution
    solution.statement.discard()
    return None


def _comes_first(state: _SearchState, scenario: Scenario, involved: set[str]) -> bool:
    """Tell whether the job that asks comes before all of its victims, which are evicted."""
    session, preemptor = state.session, scenario.preemptor
    preemptor.init_vector(session.min_device_memory)
    order = simulation_order(session, state.waiting, preemptor, involved)
    left = {*involved, preemptor.uid}
    first = next((job.uid for job in iter(lambda: order.pop_past(left), None) if job.uid in left), None)
    for uid in involved:
        session.jobs[uid].reckon_anew()
    return first == preemptor.uid


def _partial(job: Job, pending: Sequence[Task]) -> Job:
    """Return the job with what runs of it and some of what waits, its minima no larger than what it then has."""
    held = [task for task in job.tasks.values() if task.status & ACTIVE_ALLOCATED_STATUSES]
    partial = job.view([*held, *pending])
    for pod_set in partial.pod_sets.values():
        if pod_set.tasks:
            pod_set.min_available = min(pod_set.min_available, len(pod_set.tasks))
    _cap_members(partial.root)
    return partial


def _cap_members(group: SubGroupSet) -> bool:
    filled = sum(bool(pod_set.tasks) for pod_set in group.sets)
    filled += sum(_cap_members(child) for child in group.groups)
    if group.min_members is not None:
        group.min_members = min(group.min_members, filled)
    return filled > 0


def _simulate(
    state: _SearchState,
    scenario: Scenario,
    feasible: Mask,
    smaller: Sequence[Scenario] = (),
    statement: Statement | None = None,
) -> _Solution | None:
    """Try a scenario.

    Args:
        state: The search.
        scenario: What is tried.
        feasible: Nodes that come into question without any eviction.
        smaller: Scenarios of fewer pods with the same victims, which would fail only by the job's place in the order or
            the action's own word.
        statement: The evictions where they stand already; they are taken back where the try fails.
    """
    session, victim_search = state.session, state.victim_search
    chosen = scenario.victims()
    # A pod on a node that is not there cannot be evicted, and the engine gives up on whatever needs it.
    if not chosen or any(task.node == NO_NODE for task in chosen):
        return None
    leaves_traces = _dirties_session(session, scenario)
    state.dirtied_session |= leaves_traces
    # Evicted pods stand where they stood, so the nodes are known before they are placed anew.
    reachable = feasible.copy()
    reachable[[task.node for task in chosen]] = True
    nodes = np.flatnonzero(reachable)
    if statement is None:
        if not leaves_traces and scenario.potential and _has_no_node(session, scenario, nodes):
            return None
        statement = session.statement()
        _evict(state, statement, chosen)
    involved = {task.job for task in chosen}
    if not all(_comes_first(state, other, involved) for other in smaller):
        statement.discard()
        return None
    placed = _place_all(state, statement, scenario, involved, nodes)
    if placed is _Placed.NOT:
        statement.discard()
        return None
    gone = _gone(chosen)
    if not all(map(victim_search.validator, (scenario, *smaller))):
        statement.discard()
        return None
    batches = _batches_of(gone, scenario)
    is_same = not scenario.potential and [task for batch in batches for task in batch] == scenario.recorded
    is_plain = placed is _Placed.ALONE and not leaves_traces
    return _Solution(statement, chosen, batches, is_same and not leaves_traces, is_plain)


def _evict(state: _SearchState, statement: Statement, victims: Sequence[Task]) -> None:
    for task in victims:
        statement.evict(task, (state.victim_search.action, state.victim_search.job.uid))


def _evictions(state: _SearchState, made: _Solution, victims: Sequence[Task]) -> tuple[Statement, Vector]:
    """Take a try back to no more than the evictions of some victims, in their order.

    Return its statement, and the devices that are free on each node without the evictions.
    """
    statement, session = made.statement, state.session
    is_same = len(victims) == len(made.victims) and all(map(is_, victims, made.victims))
    if is_same and not state.dirtied_session:
        statement.rollback(len(victims))
        for uid in {task.job for task in victims}:
            session.jobs[uid].reckon_anew()
        return statement, state.free_gpus
    statement.discard()
    free_gpus = session.nodes.free_gpus()
    _evict(state, statement, victims)
    return statement, free_gpus


def _has_no_node(session: Session, scenario: Scenario, nodes: Indices) -> bool:
    """Tell whether a pod of the job fits on no node even before a victim comes back: then the try is bound to fail.

    It is asked only where a try that fails leaves everything as it was.
    """
    table = session.nodes
    if not table.is_whole:
        return False
    free = table.idle[nodes] + table.releasing[nodes]
    for task in scenario.victims():
        free[np.searchsorted(nodes, task.node)] += task.accepted
    by_shape = {task.shape: task for task in scenario.pending}
    return not all(
        (table.fits(task, free, nodes) & session.predicates.mask(task)[nodes]).any() for task in by_shape.values()
    )


def _dirties_session(session: Session, scenario: Scenario) -> bool:
    """Tell whether the session may differ from before once the try is taken back: the same try might end otherwise.

    The engine does not balance its books of shared devices, of resource claims and of pods that it evicted twice.
    Whole numbers of CPU, memory and devices add up. Where pods look at each other it remembers whom nobody minded when
    it first asked.
    """
    victims = scenario.victims()
    return (
        "numa" in session.plugins
        or session.predicates.remembers
        or any(task.kind != REGULAR or task.claims for task in (*scenario.pending, *victims))
        or len({task.uid for task in victims}) < len(victims)
    )


def _gone(chosen: Sequence[Task]) -> list[Task]:
    """Return the victims that did not get their place back, those that wait for another one last.

    Of a pod that was named several times, a place is given back to the first copy and another place to the last: the
    other copies count as evicted.
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


def _batches_of(tasks: Sequence[Task], scenario: Scenario) -> _Batches:
    """Return the whole batches that victims came in, each once."""
    found: _Batches = []
    seen: set[str] = set()
    for task in tasks:
        if task.uid not in seen:
            batch = list({other.uid: other for other in scenario.batch_of(task)}.values())
            seen.update(other.uid for other in batch)
            found.append(batch)
    return found


class _Placed(Enum):
    """What became of the job that asks: `ALONE` is that it came first and none of its victims could come back."""

    NOT = auto()
    ALONE = auto()
    AMONG_VICTIMS = auto()


def _place_all(
    state: _SearchState, statement: Statement, scenario: Scenario, involved: set[str], nodes: Indices
) -> _Placed:
    """Place the preemptor and its victims anew, in the order of jobs: a victim may come first and stay."""
    session, preemptor = state.session, scenario.preemptor
    order = simulation_order(session, state.waiting, preemptor, involved)
    left = {*involved, preemptor.uid}
    placed = is_moved = False
    while order and left:
        if placed and is_moved and not any(_might_fit(session, session.jobs[uid], nodes) for uid in left):
            return _Placed.ALONE if len(left) == len(involved) else _Placed.AMONG_VICTIMS
        is_moved = False
        job = order.pop_past(left)
        if job.uid not in left:
            continue
        left.discard(job.uid)
        is_moved = True
        # Who asks is judged by what it asked for before it was placed.
        job.init_vector(session.min_device_memory)
        if job.uid == preemptor.uid:
            if not place_job(session, statement, nodes, job, pipeline_only=True):
                return _Placed.NOT
            placed = True
        elif not place_job(session, statement, nodes, job, pipeline_only=True):
            # The engine asks what would be next while the evictions are a simulation, and keeps the answer: see
            # `Job.tasks_to_allocate`.
            job.tasks_to_allocate(real=False)
    return _Placed.AMONG_VICTIMS if placed else _Placed.NOT


def _might_fit(session: Session, job: Job, nodes: Indices) -> bool:
    """Tell whether a victim's next step may find room again: where all nodes together lack it, it cannot.

    What stays out whichever job comes first need not be waited for in the order. A job with pods that wait is: what was
    reckoned for it here is kept, and gives it its place among those that wait until its pods change.
    """
    if "numa" in session.plugins or job.n_pending:
        return True
    tasks = job.tasks_to_allocate(real=False)
    if any(task.kind != REGULAR or task.claims for task in tasks):
        return True
    if any(task.uid in session.decided.moved for task in tasks):
        # A pod that moved takes no room on the node that it left: the engine then gives it back its last place.
        return True
    table = session.nodes
    free = (table.idle[nodes] + table.releasing[nodes]).clip(min=0).sum(axis=0)
    asked = sum((task.request for task in tasks[1:]), start=tasks[0].request) if tasks else 0 * free
    return bool((asked <= free).all())

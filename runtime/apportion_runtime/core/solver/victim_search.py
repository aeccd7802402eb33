"""Find victims for a job, and the number of its pods for which evictions can make room.

The number of pods is searched by doubling and halving; the victims of each success are evicted first in the next try.

Source: pkg/scheduler/actions/common/solvers (job_solver.go, by_pod_solver.go), actions/common/action.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from apportion_runtime.core.job import Job
from apportion_runtime.core.nodes import Mask
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.scenario_filters import filters_for
from apportion_runtime.core.solver.scenario_generators import GENERATORS, ScenarioInput, passes
from apportion_runtime.core.solver.scenario_simulation import evictions_alone, simulate
from apportion_runtime.core.solver.search_state import Batches, SearchState, Solution, VictimSearch
from apportion_runtime.core.solver.simulation_order import waiting_jobs, with_other_place
from apportion_runtime.core.statement import Statement
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES
from apportion_runtime.core.sub_groups import SubGroupSet
from apportion_runtime.core.task import NO_NODE, Task


def feasible_nodes(session: Session, job: Job) -> Mask:
    """Return the nodes with a free GPU; all nodes for a job with a pod that requests none."""
    nodes = session.nodes
    if any(not task.needs_gpu for task in job.tasks.values()):
        return np.ones(len(nodes), dtype=bool)
    return np.asarray((nodes.idle_gpus() > 0) | (nodes.releasing_gpus() > 0))


def solve(session: Session, victim_search: VictimSearch) -> Statement | None:
    """Return a statement that evicts victims and pipelines the job's next step on their resources.

    The session is unchanged if nothing is found.
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
    state = SearchState(
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
            # neither commits nor takes back, and the session keeps these allocations until the cycle ends.
            return solution.statement if job.is_gang_satisfied and job.n_active_used > used_before else None
    return None


def _solve_with(state: SearchState, generator: str) -> Solution | None:
    """Find the number of pods that evictions can make room for; each success passes its victims to the next try."""
    n = len(state.tasks)
    recorded: Batches = []
    kept: Solution | None = None

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
            kept = _extend_to_all(state, k, solution)
        else:
            solution.statement.discard()
        return True

    if not _largest(n, succeeds):
        return None
    return kept if kept is not None else _probe(state, generator, n, recorded)


def _largest(n: int, succeeds: Callable[[int], bool]) -> int:
    """Return the number of pods, at most `n`, for which room can be made, by doubling and halving."""
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


def _probe(state: SearchState, generator: str, n: int, recorded: Batches) -> Solution | None:
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


def _first_solution(state: SearchState, generator: str, n: int, recorded: Batches) -> Solution | None:
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
        solution = simulate(state, scenario, nodes)
        if solution is not None:
            return solution
        state.failed.add(key)
    return None


def _extend_to_all(state: SearchState, k: int, made: Solution) -> Solution | None:
    """Try all pods with the victims that made room for `k`; None if the numbers between have to be tried.

    The numbers between would succeed with the same victims: a flat job places its pods one after the other whatever their
    number, so fewer pods get the same nodes, request less of their queues and leave the victims no more room than `k` did,
    which was too little. The action's validator accepts fewer pods if it accepts all. What remains to be checked for each
    is whether the filters pass it, and whether the job comes first, as it did with `k`.
    """
    session, job, n = state.session, state.victim_search.job, len(state.tasks)
    numbers = [k]
    while numbers[-1] < n:
        numbers.append(min(numbers[-1] * 2, n))
    recorded = made.batches
    victims = [task for batch in recorded for task in batch]
    statement, free_gpus, is_as_before = evictions_alone(state, made, victims)
    nodes = state.feasible.copy()
    nodes[[task.node for task in victims if task.node != NO_NODE]] = True
    first = _partial(job, state.tasks[:k])
    scenarios: list[Scenario] = []
    for number in numbers[1:]:
        partial = _partial(job, state.tasks[:number])
        scenario = Scenario(session, partial, partial.tasks_to_allocate(real=False), [list(each) for each in recorded])
        if not passes(filters_for(session, scenario, nodes, free_gpus), scenario):
            statement.discard()
            return None
        scenarios.append(scenario)
    smaller = scenarios[:-1]
    if smaller and is_as_before:
        involved = {task.job for task in victims}
        moved = with_other_place(session, state.waiting, first, [each.preemptor for each in smaller], involved)
        smaller = [each for each in smaller if each.preemptor in moved]
        for uid in involved:
            session.jobs[uid].invalidate()
    solution = simulate(state, scenarios[-1], nodes, smaller, statement)
    if solution is None or (solution.is_settled and solution.is_plain):
        return solution
    solution.statement.discard()
    return None


def _partial(job: Job, pending: Sequence[Task]) -> Job:
    """Return the job with its running pods and some pending ones, and minima no larger than these."""
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

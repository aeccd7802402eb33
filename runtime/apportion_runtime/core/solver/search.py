"""Find victims for a job: for how many of its pods can room be made, and by whom.

The number of pods is searched by doubling and halving; the victims of each success are evicted first in the next try.

Source: pkg/scheduler/actions/common/solvers (job_solver.go, by_pod_solver.go), actions/common/action.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from apportion_runtime.core.job import Job, SubGroupSet
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.placing import place_job
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.generators import GENERATORS, Search
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.statement import Statement
from apportion_runtime.core.status import ACTIVE_ALLOCATED_STATUSES, PIPELINED, RELEASING
from apportion_runtime.core.task import Task

Validator = Callable[[Scenario], bool]
_Batches = list[list[Task]]


def feasible_nodes(session: Session, job: Job) -> list[int]:
    """Return the nodes with any GPU free; all of them for a job with a pod that asks for none."""
    nodes = session.nodes
    if any(not task.needs_gpu for task in job.tasks.values()):
        return list(range(len(nodes)))
    return [i for i in range(len(nodes)) if nodes.idle_gpus(i)[0] > 0 or nodes.releasing_gpus(i)[0] > 0]


@dataclass(frozen=True, slots=True)
class Hunt:
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


@dataclass(frozen=True, slots=True)
class _Probing:
    """A hunt under way: nodes that come into question from the start, and scenarios that are known to fail."""

    session: Session
    hunt: Hunt
    tasks: Sequence[Task]
    feasible: Sequence[int]
    failed: set[object]


def solve(session: Session, hunt: Hunt) -> Statement | None:
    """Return a statement that evicts victims and has the job's next step wait for their places.

    The session is as before where nothing is found.
    """
    job = hunt.job
    used_before = job.n_active_used
    tasks = list(job.tasks_to_allocate(real=False))
    if not tasks:
        return None
    probing = _Probing(session, hunt, tasks, feasible_nodes(session, job), set())
    for name in session.settings.generators:
        recorded: _Batches = []
        if not _largest(probing, name, recorded):
            continue
        solution = _probe(probing, name, len(tasks), recorded)
        if solution is not None:
            # A gang of which only some parts are needed fails this test although it was placed: the engine then
            # neither commits nor takes back, and the session keeps the phantom until the cycle ends.
            return solution[0] if job.is_gang_satisfied and job.n_active_used > used_before else None
    return None


def _largest(probing: _Probing, generator: str, recorded: _Batches) -> int:
    """Return for how many pods room can be made; the victims of each success are left in `recorded`."""
    n = len(probing.tasks)

    def succeeds(k: int) -> bool:
        solution = _probe(probing, generator, k, recorded)
        if solution is None:
            return False
        statement, batches = solution
        recorded[:] = batches
        statement.discard()
        return True

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


def _probe(probing: _Probing, generator: str, n: int, recorded: _Batches) -> tuple[Statement, _Batches] | None:
    session, hunt = probing.session, probing.hunt
    partial = _partial(hunt.job, probing.tasks[:n])
    before = [list(batch) for batch in recorded]
    nodes = sorted({*probing.feasible, *(task.node for batch in before for task in batch)})
    search = Search(session, partial, before, hunt.victims, nodes)
    for scenario in GENERATORS[generator](search):
        key = scenario.fingerprint()
        if key in probing.failed:
            continue
        solution = _simulate(session, scenario, nodes, hunt)
        if solution is not None:
            return solution
        probing.failed.add(key)
    return None


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
    session: Session, scenario: Scenario, feasible: Sequence[int], hunt: Hunt
) -> tuple[Statement, _Batches] | None:
    chosen = scenario.victims()
    if not chosen:
        return None
    statement = session.statement()
    for task in chosen:
        statement.evict(task, (hunt.action, hunt.job.uid))
    # Evicted pods stand where they stood, so the nodes are known before they are placed anew.
    nodes = np.array(sorted({*feasible, *(task.node for task in chosen)}), dtype=np.intp)
    if not _place_all(session, statement, scenario, nodes):
        statement.discard()
        return None
    evicted = [task for task in chosen if task.status == RELEASING]
    moved = [task for task in chosen if task.status == PIPELINED]
    if not hunt.validator(scenario):
        statement.discard()
        return None
    return statement, _batches_of([*evicted, *moved], scenario)


def _batches_of(tasks: Sequence[Task], scenario: Scenario) -> _Batches:
    """Return the whole batches that victims came in, each once."""
    found: _Batches = []
    seen: set[str] = set()
    for task in tasks:
        if task.uid not in seen:
            batch = list(scenario.batch_of(task))
            seen.update(other.uid for other in batch)
            found.append(batch)
    return found


def _place_all(session: Session, statement: Statement, scenario: Scenario, nodes: np.ndarray) -> bool:
    """Place the preemptor and its victims anew, in the order of jobs: a victim may come first and stay."""
    preemptor = scenario.preemptor
    involved = {task.job for task in scenario.victims()}
    order = JobOrder(session.shares, session.plugins, session.min_device_memory)
    order.fill(_waiting(session, involved, preemptor))
    placed = False
    while order:
        job = order.pop()
        if job.uid == preemptor.uid:
            if not place_job(session, statement, nodes, job, pipeline_only=True):
                return False
            placed = True
        elif job.uid in involved:
            place_job(session, statement, nodes, job, pipeline_only=True)
    return placed


def _waiting(session: Session, involved: set[str], preemptor: Job) -> Iterator[Job]:
    for job in session.jobs.values():
        if job.uid == preemptor.uid:
            yield preemptor
        elif job.n_pending or job.uid in involved:
            yield job

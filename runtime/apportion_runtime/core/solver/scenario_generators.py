"""Scenario generators: victims are accumulated in order until a subset of them frees enough.

Source: pkg/scheduler/actions/common/solvers (pod_scenario_builder.go, sub_scenario_emitter.go),
plugins/nodelocalgreedy, plugins/multinodegang.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_runtime.core.eviction_info import tasks_to_evict
from apportion_runtime.core.job import Job
from apportion_runtime.core.job_order import JobOrder
from apportion_runtime.core.nodes import Mask
from apportion_runtime.core.running_totals import added
from apportion_runtime.core.session import Session
from apportion_runtime.core.solver.scenario import Scenario
from apportion_runtime.core.solver.scenario_filters import Filter, filters_for
from apportion_runtime.core.task import NO_NODE, Task


@dataclass(frozen=True, slots=True)
class ScenarioInput:
    """The input of one probe of a search.

    Attributes:
        session: The session.
        preemptor: The job with as many of its pods as the probe wants to place.
        recorded: Victims chosen by earlier probes, in the batches in which they were added.
        victims: Returns a new order of victims.
        feasible: Nodes that are considered without any eviction.
    """

    session: Session
    preemptor: Job
    recorded: Sequence[Sequence[Task]]
    victims: Callable[[], JobOrder]
    feasible: Mask


def _accumulated(search: ScenarioInput) -> Iterator[Scenario]:
    """Yield the one scenario, growing by a batch of victims each time, whenever the filters let it pass."""
    pending = search.preemptor.tasks_to_allocate(real=False)
    if not pending:
        return
    scenario = Scenario(search.session, search.preemptor, pending, search.recorded)
    filters = filters_for(search.session, scenario, search.feasible)
    recorded = {task.uid for task in scenario.recorded}
    if passes(filters, scenario):
        yield scenario
    order = search.victims()
    while order:
        job = order.pop()
        batch, has_more = tasks_to_evict(job)
        known = any(task.uid in recorded for task in batch)
        if known or has_more:
            chosen = recorded if known else {task.uid for task in batch}
            left = [task for task in job.tasks.values() if task.uid not in chosen]
            if left:
                order.push(job.view(left))
        if known:
            continue
        scenario.add(batch)
        if passes(filters, scenario):
            yield scenario


def passes(filters: Sequence[Filter], scenario: Scenario) -> bool:
    """Return whether every filter lets a scenario pass."""
    return all(each.passes(scenario) for each in filters)


def node_local_greedy(search: ScenarioInput) -> Iterator[Scenario]:
    """For each node of the latest victim, evict every victim so far that touches it."""
    for base in _accumulated(search):
        if not base.potential:
            if base.recorded:
                yield base
            continue
        latest = search.session.jobs[base.potential[-1].job]
        seen: set[frozenset[str]] = set()
        for node in sorted({task.node for task in latest.tasks.values() if task.node != NO_NODE}):
            batches = _batches_touching(base, node)
            key = frozenset(task.uid for batch in batches for task in batch)
            if key and key not in seen:
                seen.add(key)
                yield base.narrowed(batches)


def _batches_touching(base: Scenario, node: int) -> list[list[Task]]:
    """Return, for each job with a victim on a node, all its victims in one batch."""
    by_job: dict[str, list[Task]] = {job: [] for job in base.by_node.get(node, ())}
    for batch in (*base.recorded_jobs, *base.batches):
        if batch and batch[0].job in by_job:
            by_job[batch[0].job] += batch
    return [batch for batch in by_job.values() if batch]


def multi_node_gang(search: ScenarioInput) -> Iterator[Scenario]:
    """Evict from several nodes together: as few as could hold the request, then more."""
    for base in _accumulated(search):
        if not base.potential:
            yield base
            continue
        yield from _by_nodes(search, base)


def _by_nodes(search: ScenarioInput, base: Scenario) -> Iterator[Scenario]:
    nodes = search.session.nodes
    quotas = [task.gpu.quota for task in base.pending]
    freed: dict[int, float] = {}
    for task in base.recorded:
        if task.node != NO_NODE:
            freed[task.node] = freed.get(task.node, 0.0) + task.accepted_gpu.quota
    of_node: dict[int, list[int]] = {}
    for number, batch in enumerate(base.batches):
        for task in batch:
            if task.node != NO_NODE and number not in of_node.setdefault(task.node, []):
                of_node[task.node].append(number)
    free = nodes.free_gpus()
    capacity: dict[int, float] = {}
    for node, numbers in of_node.items():
        # Added pod by pod, as in the engine: rounding breaks ties between nodes.
        held = freed.get(node, 0.0) + float(free[node])
        for number in numbers:
            for task in base.batches[number]:
                if task.node == node:
                    held += task.accepted_gpu.quota
        capacity[node] = held
    smallest = min(quotas)
    # The sort is stable: ties are broken by insertion order.
    order = sorted(
        (node for node in of_node if not (smallest > 0 and capacity[node] < smallest)), key=capacity.__getitem__
    )
    others = search.feasible.copy()
    others[list(of_node)] = False
    baseline = float(free[others].sum()) + added(amount for node, amount in freed.items() if others[node])
    n, step = _smallest_prefix(order, capacity, max(added(quotas) - baseline, 0.0)), 1
    while n <= len(order):
        # The engine keeps them in a map; iteration over a few entries usually begins with the one inserted first.
        chosen = dict.fromkeys(number for node in order[:n] for number in of_node[node])
        yield base.narrowed(base.batches[number] for number in chosen)
        if n >= len(order):
            return
        n, step = min(n + step, len(order)), step * 2


def _smallest_prefix(order: Sequence[int], capacity: Mapping[int, float], wanted: float) -> int:
    if wanted <= 0:
        return 0
    total = 0.0
    for number, node in enumerate(order, start=1):
        total += capacity[node]
        if total >= wanted:
            return number
    return len(order) + 1


GENERATORS: Mapping[str, Callable[[ScenarioInput], Iterator[Scenario]]] = {
    "sg-nodelocalgreedy": node_local_greedy,
    "sg-multinodegang": multi_node_gang,
}

"""Invariants of any cycle, computed from the records alone: each function yields the violations.

Totals that a session updates incrementally are recomputed here from the pods on the nodes. Records of what
was decided come from the session; what was there before, from the snapshot.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from unittest.mock import patch

import numpy as np

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.node_entry import Entry
from apportion_runtime.core.nodes import NodeTable
from apportion_runtime.core.resources import GPU
from apportion_runtime.core.session import Session
from apportion_runtime.core.shares import RESOURCES
from apportion_runtime.core.snapshot import Queue, Settings, Snapshot, SubGroup
from apportion_runtime.core.status import (
    ACTIVE_ALLOCATED_STATUSES,
    ACTIVE_USED_STATUSES,
    ALIVE_STATUSES,
    BINDING,
    GATED,
    PIPELINED,
    RELEASING,
)
from apportion_runtime.core.task import NO_NODE, Task

_SLACK = 1e-6


@dataclass(frozen=True)
class Outcome:
    """A cycle: what it started from, the session in which nothing had been done yet, and the one in which all was.

    `miscounted` are nodes of which the engine itself loses count, and the core with it: where a pod that shares devices
    was tried on other devices of its own node, and that was taken back, the node charges it twice (the entry of the
    eviction is gone by then; pkg/scheduler/framework/statement.go, unpipeline and unevict).

    `promised` are nodes from which a pod was evicted that only waited there for its place: the engine counts that place
    as one that is being released, and may guarantee it to another pod beside the first (pkg/scheduler/api/node_info,
    addTaskResources; ../conformance/kai_random has such a cluster).
    """

    snapshot: Snapshot
    before: Session
    after: Session
    miscounted: frozenset[int]
    promised: frozenset[int]


def run(snapshot: Snapshot, how: Settings) -> Outcome:
    """Run a cycle and record the state that is not visible afterwards."""
    moved: set[int] = set()
    promised: set[int] = set()
    add, update = NodeTable.add, NodeTable.update

    def noting(table: NodeTable, task: Task, i: int, *, elsewhere: bool = False) -> None:
        if elsewhere:
            moved.add(i)
        add(table, task, i, elsewhere=elsewhere)

    def noting_updates(table: NodeTable, task: Task, i: int) -> None:
        if task.status == RELEASING and table.entries[i][task.uid].status == PIPELINED:
            promised.add(i)
        update(table, task, i)

    before = cycle(snapshot, replace(how, actions=()))
    with patch.object(NodeTable, "add", noting), patch.object(NodeTable, "update", noting_updates):
        after = cycle(snapshot, how)
    return Outcome(snapshot, before, after, frozenset(moved), frozenset(promised))


def nodes_hold_what_they_say(outcome: Outcome) -> Iterator[str]:
    """Yield nodes whose idle, releasing or used amounts differ from the sums of their pods."""
    table = outcome.after.nodes
    for i, name in enumerate(table.names):
        if i in outcome.miscounted:
            continue
        entries = table.entries[i]
        idle, releasing, used = (
            table.allocatable[i].copy(),
            np.zeros(len(table.resources)),
            np.zeros(len(table.resources)),
        )
        for entry in entries.values():
            used += entry.charged
            if entry.status == PIPELINED:
                releasing -= entry.charged
                continue
            idle -= entry.charged
            if entry.status == RELEASING:
                releasing += entry.charged
        devices = _devices(entries.values())
        shared = {group for group, by_status in devices.items() if by_status["allocated"] > 0}
        idle[GPU] -= len(shared)
        for column, resource in enumerate(table.resources.names):
            pairs = [(idle, table.idle, "idle"), (used, table.used, "used")]
            if column != GPU or not devices:
                pairs.append((releasing, table.releasing, "releasing"))
            for expected, kept, what in pairs:
                if devices and column == GPU and what == "idle" and kept[i, column] < expected[column]:
                    # Whether a device that begins or ends to be shared was counted out before, the engine guesses
                    # from totals (addSharedTaskResourcesPerPodGroup); what it counts out once too often stays unused.
                    continue
                if abs(expected[column] - kept[i, column]) > _SLACK:
                    yield f"{name} says {kept[i, column]} {resource} {what}, but has {expected[column]}"
        kept_devices = table.shared.get(i)
        for group, by_status in devices.items():
            assert kept_devices is not None
            of = (kept_devices.used, kept_devices.allocated, kept_devices.releasing)
            for what, numbers in zip(("used", "allocated", "releasing"), of, strict=True):
                if numbers.get(group, 0) != by_status[what]:
                    yield f"{name} says {numbers.get(group, 0)} MiB {what} on {group}, but has {by_status[what]}"


def _devices(entries: Iterable[Entry]) -> dict[str, Counter[str]]:
    """Return MiB on each shared device, as nodes count them; `staying` excludes releasing pods."""
    devices: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        for group in entry.groups:
            numbers = devices[group]
            numbers["used"] += entry.memory
            numbers["largest"] = max(numbers["largest"], entry.memory)
            numbers["allocated"] += entry.memory if entry.status != PIPELINED else 0
            numbers["staying"] += entry.memory if entry.status != RELEASING else 0
            if entry.status in (PIPELINED, RELEASING):
                numbers["releasing"] += entry.memory if entry.status == RELEASING else -entry.memory
    return devices


def pods_stand_where_they_say(outcome: Outcome) -> Iterator[str]:
    """Yield placed pods missing from their node or with another status there, and other pods that are not releasing."""
    session = outcome.after
    tasks = {task.uid: task for job in session.jobs.values() for task in job.tasks.values()}
    for task in tasks.values():
        if task.status & ACTIVE_USED_STATUSES and task.node not in (NO_NODE, *outcome.miscounted):
            entry = session.nodes.entries[task.node].get(task.uid)
            if entry is None or entry.status & ACTIVE_USED_STATUSES == 0:
                yield f"{task.uid} is not on {session.nodes.names[task.node]}"
    for i, entries in enumerate(session.nodes.entries):
        for uid, entry in entries.items():
            task = tasks.get(uid)
            if task is None or (task.node == i and task.status & ACTIVE_USED_STATUSES):
                continue
            if entry.status != RELEASING or task.status not in (PIPELINED, RELEASING):
                yield f"{session.nodes.names[i]} keeps {uid}, which is elsewhere"


def no_node_is_over_capacity(outcome: Outcome) -> Iterator[str]:
    """The pods on a node fit it, and so do pipelined pods after the releasing ones are gone.

    A pod that waited for its place and was evicted from there is counted by the node, and never stood on it.
    """
    table = outcome.after.nodes
    came = {pod.uid: pod.node for pod in outcome.snapshot.pods}
    bound = {task.uid for task in outcome.after.decided.binds}
    for i, name in enumerate(table.names):
        entries = [
            entry
            for uid, entry in table.entries[i].items()
            if entry.status != RELEASING or uid in bound or came[uid] == name
        ]
        devices = _devices(entries)
        standing, later = np.zeros(len(table.resources)), np.zeros(len(table.resources))
        for entry in entries:
            standing += entry.charged if entry.status != PIPELINED else 0.0
            later += entry.charged if entry.status != RELEASING else 0.0
        standing[GPU] += sum(by_status["allocated"] > 0 for by_status in devices.values())
        later[GPU] += sum(by_status["staying"] > 0 for by_status in devices.values())
        size = int(table.gpu_memory[i])
        for column, resource in enumerate(table.resources.names):
            most = table.allocatable[i, column] * (1 + _SLACK)
            if standing[column] > most:
                yield f"{name} has {standing[column]} {resource} in use of {most}"
            if later[column] > most and i not in outcome.miscounted | outcome.promised:
                yield f"{name} will have {later[column]} {resource} in use of {most}"
        for group, by_status in devices.items():
            if by_status["largest"] > size:
                # KAI accepts a memory request of exactly two devices, and assigns one (isValidGpuPortion).
                continue
            if by_status["allocated"] > size:
                yield f"{group} on {name} has {by_status['allocated']} MiB in use of {size}"
            if by_status["staying"] > size and i not in outcome.miscounted | outcome.promised:
                yield f"{group} on {name} will have {by_status['staying']} MiB in use of {size}"


def gangs_start_whole(outcome: Outcome) -> Iterator[str]:
    """Yield pod groups with a bound pod that lack the minimum of a sub-group.

    Of a group that needs only some of its parts the engine fills the first in order with what pods they have, though
    they may lack some of their minimum (allocation_info.go, collectTasksFromSubGroupSet).
    """
    trees = {group.uid: group.root for group in outcome.snapshot.pod_groups}
    bound_now = {task.uid for task in outcome.after.decided.binds}
    for uid, job in outcome.after.jobs.items():
        held: Counter[str] = Counter()
        waiting: Counter[str] = Counter()
        for task in job.tasks.values():
            if task.status & ACTIVE_ALLOCATED_STATUSES:
                held[task.pod_set] += 1
            elif task.status & ALIVE_STATUSES and task.status != GATED:
                waiting[task.pod_set] += 1
        if not any(task.uid in bound_now and task.status == BINDING for task in job.tasks.values()):
            continue
        if not _satisfied(trees[uid], held, waiting, some_do=False):
            yield f"{uid} was started in part: it holds {dict(held)}, and {dict(waiting)} wait"


def _satisfied(part: SubGroup, held: Counter[str], waiting: Counter[str], *, some_do: bool) -> bool:
    if not part.children:
        name = part.name or "default"
        return held[name] >= (part.min_members or 0) or (some_do and not waiting[name])
    needed = len(part.children) if part.min_members is None else part.min_members
    some_do = some_do or needed < len(part.children)
    return sum(_satisfied(child, held, waiting, some_do=some_do) for child in part.children) >= needed


def _paths(snapshot: Snapshot) -> dict[str, list[Queue]]:
    by_name = {queue.name: queue for queue in snapshot.queues}
    paths: dict[str, list[Queue]] = {}
    for name in by_name:
        at: str | None = name
        paths[name] = []
        while at:
            paths[name].append(by_name[at])
            at = by_name[at].parent
    return paths


def _held(snapshot: Snapshot, session: Session, *, preemptible_too: bool) -> dict[str, list[float]]:
    """Return the resources of placed pods in each queue, as accepted by their nodes."""
    held: dict[str, list[float]] = {queue.name: [0.0, 0.0, 0.0] for queue in snapshot.queues}
    paths = _paths(snapshot)
    for job in session.jobs.values():
        if job.preemptible and not preemptible_too:
            continue
        for task in job.tasks.values():
            if task.status & ACTIVE_ALLOCATED_STATUSES:
                for queue in paths.get(job.queue, ()):
                    for r, amount in enumerate(task.accepted_quantities):
                        held[queue.name][r] += amount
    return held


def queues_hold_what_their_pods_hold(outcome: Outcome) -> Iterator[str]:
    """Yield queues whose allocation is not the sum of their pods', including those of descendants."""
    snapshot, session = outcome.snapshot, outcome.after
    for preemptible_too in (True, False):
        held = _held(snapshot, session, preemptible_too=preemptible_too)
        twice = _taken_twice(snapshot, session, preemptible_too=preemptible_too)
        for name, amounts in held.items():
            share = session.shares.queues[name]
            kept = share.allocated if preemptible_too else share.allocated_np
            for r, (resource, amount) in enumerate(zip(RESOURCES, amounts, strict=True)):
                expected = amount - twice[name][r]
                if abs(expected - kept[r]) > _SLACK * max(1.0, abs(expected)):
                    yield f"{name} says {kept[r]} {resource}, but its pods hold {expected}"


def _taken_twice(snapshot: Snapshot, session: Session, *, preemptible_too: bool) -> dict[str, list[float]]:
    """Return the amounts subtracted from queues more than once for the same pod.

    A victim on record from an earlier try is evicted again with whatever else of its job stands on the node of the
    latest victim (by_node_scenario.go, VictimsTasksFromNodes): the engine takes it from its queue as often.
    """
    found: dict[str, list[float]] = {queue.name: [0.0, 0.0, 0.0] for queue in snapshot.queues}
    paths = _paths(snapshot)
    tasks = {task.uid: task for job in session.jobs.values() for task in job.tasks.values()}
    for taking in session.decided.eviction_sets:
        for uid, n in Counter(taking.evicted).items():
            job = session.jobs[tasks[uid].job]
            for queue in paths.get(job.queue, ()) if preemptible_too or not job.preemptible else ():
                for r, amount in enumerate(tasks[uid].accepted_quantities):
                    found[queue.name][r] += (n - 1) * amount
    return found


def _beyond(outcome: Outcome, *, guarantee: bool) -> Iterator[str]:
    snapshot = outcome.snapshot
    was = _held(snapshot, outcome.before, preemptible_too=not guarantee)
    has = _held(snapshot, outcome.after, preemptible_too=not guarantee)
    twice = _taken_twice(snapshot, outcome.after, preemptible_too=not guarantee)
    for queue in snapshot.queues:
        for r, resource in enumerate((queue.cpu, queue.memory, queue.gpu)):
            bound = resource.quota if guarantee else resource.limit
            now = has[queue.name][r] - twice[queue.name][r]
            if bound >= 0 and now > max(bound, was[queue.name][r]) + _SLACK * max(1.0, bound):
                yield f"{queue.name} came to {now} {RESOURCES[r]}, beyond {bound}"


def limits_hold(outcome: Outcome) -> Iterator[str]:
    """Yield queues raised above their limit, or further above it than before."""
    return _beyond(outcome, guarantee=False)


def guarantees_bound_what_cannot_be_taken_back(outcome: Outcome) -> Iterator[str]:
    """Yield queues whose non-preemptible jobs were raised above the guarantee."""
    return _beyond(outcome, guarantee=True)


def evictions_have_a_reason(outcome: Outcome) -> Iterator[str]:
    """Yield evicted pods that are not evictable, or whose preemptor may not evict them or is not pipelined."""
    session = outcome.after
    for task, _, why in session.decided.evictions:
        victim = session.jobs[task.job]
        assert isinstance(why, tuple)
        action, asker = why
        if action == "stalegangeviction":
            if victim.counts.get(BINDING):
                yield f"{victim.uid} was evicted as stale, and bound"
            continue
        beneficiary = session.jobs[asker]
        if not victim.preemptible:
            yield f"{task.uid} cannot be evicted, but was"
        if victim.uid == asker:
            yield f"{task.uid} was evicted for its own job"
        if not any(pipelined.job == asker for pipelined in session.decided.pipelines):
            yield f"{task.uid} was evicted for {asker}, which got nothing"
        if action == "reclaim" and victim.queue == beneficiary.queue:
            yield f"{task.uid} was reclaimed within {victim.queue}"
        if action == "preempt" and (victim.queue != beneficiary.queue or victim.priority >= beneficiary.priority):
            yield f"{task.uid} was preempted by {asker} of another queue, or no higher priority"
        if action == "consolidation" and not any(moved is task for moved in session.decided.pipelines):
            yield f"{task.uid} was to be moved, and lost its place"


def minimum_runtimes_hold(outcome: Outcome) -> Iterator[str]:
    """Yield jobs within their minimum runtime that lost required pods to preemption or reclaim."""
    snapshot, session = outcome.snapshot, outcome.after
    paths = _paths(snapshot)
    lost: set[tuple[str, str, str]] = set()
    for task, _, why in session.decided.evictions:
        assert isinstance(why, tuple)
        if why[0] in ("reclaim", "preempt"):
            lost.add((task.job, why[0], why[1]))
    for uid, action, asker in sorted(lost):
        job = session.jobs[uid]
        theirs, ours = paths[job.queue], paths[session.jobs[asker].queue]
        if action == "preempt":
            minimum = next((q.preempt_min_runtime for q in theirs if q.preempt_min_runtime is not None), 0.0)
        else:
            minimum = _reclaim_minimum(theirs, ours, session.settings.reclaim_resolve_method)
        started = job.group.last_start
        if started is None or snapshot.now >= started + minimum:
            continue
        if all(job.pod_sets[name].min_available >= len(job.pod_sets[name].tasks) for name in job.pod_sets):
            yield f"{uid} was evicted for {asker} after {snapshot.now - started} s of {minimum}"


def _reclaim_minimum(theirs: list[Queue], ours: list[Queue], method: str) -> float:
    asked = theirs
    if method == "lca":
        names = {queue.name for queue in ours}
        below = [queue for queue in theirs if queue.name not in names]
        # The child of the lowest common ancestor, then upwards; without a common ancestor, only the victim's root.
        asked = theirs[len(below) - 1 :] if len(below) < len(theirs) else theirs[-1:]
    return next((q.reclaim_min_runtime for q in asked if q.reclaim_min_runtime is not None), 0.0)


def shares_fit_where_guarantees_do(outcome: Outcome) -> Iterator[str]:
    """Yield resources whose fair shares exceed the capacity although the requested guarantees fit."""
    session = outcome.after
    for parent in (None, *session.shares.queues.values()):
        children = session.shares.children_of(parent)
        for r, resource in enumerate(RESOURCES):
            total = session.shares.total[r] if parent is None else parent.fair[r]
            promised = 0.0
            for queue in children:
                asked = queue.request[r] if queue.limit[r] == -1 else min(queue.request[r], queue.limit[r])
                promised += min(total if queue.deserved[r] == -1 else queue.deserved[r], asked)
            given = sum(queue.fair[r] for queue in children)
            slack = _SLACK * max(1.0, total)
            if promised <= total and given > total + slack:
                yield f"{given} {resource} are shared out of {total}"
            if promised > total and given > promised + slack:
                yield f"{given} {resource} are shared out where {promised} are promised of {total}"

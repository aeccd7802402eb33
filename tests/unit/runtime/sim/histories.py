"""Synthetic histories for reports: any number of workloads, generated quickly."""

from __future__ import annotations

import random

from apportion_runtime.sim.history import (
    ENDED_BY_EVICTION,
    ENDED_BY_SUCCESS,
    EvictionFact,
    History,
    Sample,
    WorkloadFacts,
)

_KINDS = ("RayJob", "PyTorchJob", "Job", "Deployment")


def crowded(n_workloads: int, n_queues: int = 100, *, seed: int = 7) -> History:
    """Return three days of a busy cluster: an inner queue for ten leaves, waits, evictions, and some who never run."""
    drawn = random.Random(seed)
    history = History(keeps_facts=False)
    inner = max(1, n_queues // 10)
    history.parents = {f"department-{number:02}": None for number in range(inner)}
    leaves = [f"team-{number:03}" for number in range(n_queues - inner)]
    history.parents |= {name: f"department-{number % inner:02}" for number, name in enumerate(leaves)}
    end = 3 * 86_400.0
    for node in range(1000):
        history.set_machine(f"node-{node:04}", 8.0, 0.0)
    history.set_capacity(8000.0, 0.0)
    for number in range(n_workloads):
        queue = leaves[drawn.randrange(len(leaves))]
        arrived = round(drawn.uniform(0, end * 0.9), 1)
        gpus = drawn.choice((0.5, 1, 1, 2, 4, 8))
        facts = WorkloadFacts(
            number, f"{drawn.choice(('train', 'eval', 'serve'))}-{queue}-{number}", drawn.choice(_KINDS), queue, arrived,
            queue, gpus,
        )  # fmt: skip
        history.workloads.append(facts)
        history.begin_wait(f"group-{number}", number, queue, arrived)
        starts = arrived + drawn.expovariate(1 / 1200)
        if starts > end or drawn.random() < 0.02:
            facts.why_waiting = f"{queue} quota has reached the allowable limit of GPUs"
            continue
        _run(history, drawn, facts, starts, end, leaves)
    for name in history.parents:
        for step in range(200):
            at = step * end / 200
            history.sample(name, Sample(at, 0.0, float(drawn.randrange(200)), 80.0, float(drawn.randrange(400))))
    history.end(end)
    return history


def _run(
    history: History, drawn: random.Random, facts: WorkloadFacts, starts: float, end: float, leaves: list[str]
) -> None:
    group, node = f"group-{facts.number}", f"node-{drawn.randrange(1000):04}"
    facts.started_s = starts
    devices = (f"{node}-shared",) if facts.gpus < 1 else ()
    for turn in range(drawn.choice((1, 1, 1, 2, 3))):
        pod = f"{facts.name}-{turn}"
        history.end_wait(group, starts)
        history.begin_stay(pod, facts.number, node, gpus=facts.gpus, cpu=0.0, at_s=starts, devices=devices)
        until = starts + drawn.expovariate(1 / 7200)
        if until >= end:
            return
        last = turn == 2 or drawn.random() < 0.6
        history.end_stay(pod, until, ENDED_BY_SUCCESS if last else ENDED_BY_EVICTION)
        if last:
            facts.finished_s, facts.outcome = until, "succeeded"
            return
        by = leaves[drawn.randrange(len(leaves))]
        history.taken.append(
            EvictionFact(
                until, pod, facts.number, facts.queue, node, facts.gpus, "reclaim", "other", -1, by, "rule", "text"
            )
        )
        facts.lost_gpu_s += 600.0 * facts.gpus
        history.begin_wait(group, facts.number, facts.queue, until)
        starts = until + drawn.expovariate(1 / 900)

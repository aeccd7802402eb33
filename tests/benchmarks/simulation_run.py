"""A simulation in a process of its own: `python simulation_run.py WORKLOADS NODES QUEUES` prints JSON.

Nodes of eight devices; queues of equal guarantee below ten departments; jobs of one to eight pods of which each wants up
to two devices, or a part of one. They ask for 70 % of the devices on average, some queues for much more than others, which
borrow what is idle.
Reading the scenario is not counted, making the cluster and all events are.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import time
from typing import Any

from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.invariants import broken, over_limit
from apportion_runtime.sim.scenario import NodeShape, Pool, Scenario, Work
from apportion_runtime.sim.shorthand import Short, Size, manifest_of

_GPUS = 8
_SEED = 20_261_122
_LOAD = 0.7
_CHECKED_EVERY = 5_000


def _queue(name: str, parent: str, gpus: float) -> dict[str, Any]:
    free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    resources = {"cpu": free, "memory": free, "gpu": {"quota": gpus, "limit": -1, "overQuotaWeight": 1}}
    spec = {"resources": resources, **({"parentQueue": parent} if parent else {})}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _queues(n_queues: int, gpus: int) -> list[dict[str, Any]]:
    n_departments = min(10, n_queues)
    departments = [_queue(f"d{i}", "", gpus / n_departments) for i in range(n_departments)]
    return departments + [_queue(f"q{i}", f"d{i % n_departments}", gpus / n_queues) for i in range(n_queues)]


def _scenario(n_workloads: int, n_nodes: int, n_queues: int) -> Scenario:
    rng = random.Random(_SEED)
    shape = NodeShape(
        {"nvidia.com/gpu.count": str(_GPUS), "nvidia.com/gpu.memory": "80000"},
        {"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(_GPUS)},
    )
    jobs: list[tuple[Short, float]] = []
    asked_s = 0.0
    for number in range(n_workloads):
        n_pods, gpus = rng.choice((1, 1, 1, 2, 4, 8)), rng.choice((0.5, 1, 1, 2))
        work_s = rng.uniform(600, 7200)
        asked_s += n_pods * gpus * work_s
        queue = f"q{min(n_queues - 1, int(rng.expovariate(4 / n_queues)))}"
        priority = rng.choice(("train", "train", "train", "build-preemptible"))
        size = Size("2", "8Gi", gpus)
        jobs.append((Short("Job", f"w{number:05}", "ns", queue, priority, size, n_pods, n_pods), work_s))
    lasts_s = asked_s / (_LOAD * n_nodes * _GPUS)
    works = tuple(
        Work(manifest_of(short), arrives_s=rng.uniform(0, lasts_s), work_s=work_s, checkpoint_s=600.0)
        for short, work_s in jobs
    )
    return Scenario(pools=(Pool("gpu", shape, n_nodes, n_nodes, n_nodes),), works=works)


def main(workloads: str, nodes: str, queues: str) -> None:
    """Run it and print seconds of CPU, the peak of memory in MiB, and what happened."""
    scenario = _scenario(int(workloads), int(nodes), int(queues))
    started = time.process_time()
    cluster = Cluster(_queues(int(queues), int(nodes) * _GPUS), scenario, keeps_facts=False)
    n_events, checking_s = 0, 0.0
    faults: list[str] = []
    while cluster.step():
        n_events += 1
        if n_events % _CHECKED_EVERY == 0:
            before = time.process_time()
            faults += [*broken(cluster.world, cluster.workloads.running), *over_limit(cluster.world)]
            checking_s += time.process_time() - before
    history = cluster.finish()
    seconds = time.process_time() - started - checking_s
    outcomes = [facts.outcome for facts in history.workloads]
    print(
        json.dumps(
            {
                "cpu_s": seconds,
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "n_events": n_events,
                "n_cycles": history.n_cycles,
                "n_evicted": len(history.taken),
                "n_succeeded": outcomes.count("succeeded"),
                "faults": faults,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

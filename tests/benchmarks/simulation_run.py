"""A simulation in a process of its own: `python simulation_run.py WORKLOADS NODES QUEUES [ENGINE [LOAD]]` prints JSON.

Nodes of eight devices; queues of equal guarantee below ten departments; jobs of one to eight pods of which each wants up
to two devices, or, under KAI Scheduler, a part of one. They ask for 70 % of the devices on average, or for another load, some queues for much more than others, which
borrow what is idle.
Making the scenario and the cluster is counted, and all events are.
"""

from __future__ import annotations

import gc
import json
import random
import resource
import sys
import time

from engine_objects import OBJECTS, classes, queue_name, workload_labels

from apportion_runtime.engines.detection import named
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.invariants import broken, over_limit
from apportion_runtime.sim.scenario.format import NodeShape, Pool, Scenario, Work
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of

_GPUS = 8
_SEED = 20_261_122
_LOAD = 0.7
_CHECKED_EVERY = 5_000


def _scenario(n_workloads: int, n_nodes: int, n_queues: int, engine: str, load: float) -> Scenario:
    rng = random.Random(_SEED)
    is_kai, labels = engine == "kai", workload_labels(engine)
    shape = NodeShape(
        {"nvidia.com/gpu.count": str(_GPUS), "nvidia.com/gpu.memory": "80000"},
        {"cpu": "128", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(_GPUS)},
    )
    jobs: list[tuple[WorkloadFields, float]] = []
    asked_s = 0.0
    for number in range(n_workloads):
        n_pods, gpus = rng.choice((1, 1, 1, 2, 4, 8)), rng.choice((0.5 if is_kai else 1, 1, 1, 2))
        work_s = rng.uniform(600, 7200)
        asked_s += n_pods * gpus * work_s
        number_of_queue = min(n_queues - 1, int(rng.expovariate(4 / n_queues)))
        priority = rng.choice(("train", "train", "train", "build-preemptible"))
        size = Size("2", "8Gi", gpus)
        queue, namespace = queue_name(engine, number_of_queue, n_queues), "ns" if is_kai else f"q{number_of_queue}"
        short = WorkloadFields(
            "Job", f"w{number:05}", namespace, queue, priority, size, n_pods, n_pods, workload_labels=labels
        )
        jobs.append((short, work_s))
    lasts_s = asked_s / (load * n_nodes * _GPUS)
    works = tuple(
        Work(manifest_of(short), arrives_s=rng.uniform(0, lasts_s), work_s=work_s, checkpoint_s=600.0)
        for short, work_s in jobs
    )
    return Scenario(pools=(Pool("gpu", shape, n_nodes, n_nodes, n_nodes),), works=works)


def made(
    workloads: int, nodes: int, queues: int, engine: str, load: float = _LOAD, *, keeps_facts: bool = False
) -> Cluster:
    """Return the cluster before its first event."""
    scenario = _scenario(workloads, nodes, queues, engine, load)
    objects = [*OBJECTS[engine](queues, nodes * _GPUS), *(() if engine == "kai" else classes())]
    return Cluster(objects, scenario, named(engine), keeps_facts=keeps_facts)


def main(workloads: str, nodes: str, queues: str, engine: str = "kai", load: str = str(_LOAD)) -> None:
    """Run it and print seconds of CPU, the peak of memory in MiB, and the results."""
    # As the command does.
    gc.disable()
    started = time.process_time()
    cluster = made(int(workloads), int(nodes), int(queues), engine, float(load))
    n_events, checking_s = 0, 0.0
    faults: list[str] = []
    while cluster.step():
        n_events += 1
        if n_events % _CHECKED_EVERY == 0:
            before = time.process_time()
            faults += broken(cluster.cluster_state, cluster.workloads.running, cluster.engine.starts_together)
            faults += over_limit(cluster.cluster_state) if engine == "kai" else ()
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

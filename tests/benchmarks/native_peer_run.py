"""Single pods on plain Kubernetes, simulated in a process of its own: `python native_peer_run.py PODS NODES` prints JSON.

`sizes` makes the pods, also for the real kube-scheduler: nearly all fit on the nodes of eight devices, and each hundredth
requests more devices than a node has.
"""

from __future__ import annotations

import gc
import json
import random
import resource
import sys
import time

from apportion_runtime.engines.detection import named
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import NodeShape, Pool, Scenario, Work
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of

GPUS, CPUS, MEMORY = 8, 128, "1Ti"
_LARGE, _EVERY = 16, 100
_SEED = 20_261_130
_WORK_S, _UNTIL_S = 1e6, 3600.0


def sizes(n_pods: int) -> list[tuple[int, int]]:
    """Return the cores and devices of each pod."""
    rng = random.Random(_SEED)
    drawn = [(rng.choice((1, 2, 4, 8)), rng.choice((0, 0, 1, 1, 1))) for _ in range(n_pods)]
    return [(cpus, _LARGE if number % _EVERY == 0 else gpus) for number, (cpus, gpus) in enumerate(drawn)]


def name_of(number: int) -> str:
    """Return the name of a pod, or of its Job."""
    return f"p{number:05}"


def main(n_pods: str, n_nodes: str) -> None:
    """Run for an hour, in which no pod ends, and print CPU seconds, peak memory in MiB and the node of each placed pod."""
    # As the command does.
    gc.disable()
    started = time.process_time()
    shape = NodeShape(
        {"nvidia.com/gpu.count": str(GPUS)},
        {"cpu": str(CPUS), "memory": MEMORY, "pods": "110", "nvidia.com/gpu": str(GPUS)},
    )
    labels = named("native").workload_labels
    jobs = [
        WorkloadFields("Job", name_of(number), "ns", "", "", Size(str(cpus), "1Gi", gpus), 1, 1, workload_labels=labels)
        for number, (cpus, gpus) in enumerate(sizes(int(n_pods)))
    ]
    works = tuple(Work(manifest_of(job), arrives_s=0.0, work_s=_WORK_S) for job in jobs)
    pool = Pool("gpu", shape, int(n_nodes), int(n_nodes), int(n_nodes))
    cluster = Cluster([], Scenario(pools=(pool,), works=works, until_s=_UNTIL_S), named("native"), keeps_facts=False)
    cluster.run()
    seconds = time.process_time() - started
    placed = {
        pod.name.rpartition("-")[0]: pod.record.node for pod in cluster.cluster_state.pods.values() if pod.is_bound
    }
    print(
        json.dumps(
            {
                "cpu_s": seconds,
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "node_by_pod": placed,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

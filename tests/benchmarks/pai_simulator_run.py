"""PAI's own simulator on a list of jobs: `python pai_simulator_run.py DIRECTORY JOBS.csv NODES SECONDS` prints JSON.

DIRECTORY is `cluster-trace-gpu-v2020/simulator` of alibaba/clusterdata. Settings are those of its run_simulator.py with the
policy FIFO, but jobs arrive at their recorded times. With one node, it has the devices and cores of all (NODES is 1:N, N
nodes merged into one), as in the simulator's published log. It stops after SECONDS of CPU time.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_FIFO, _LARGE_GANG_FIRST, _LEAST_USED_FIRST, _BY_NUMBER = 8, 2, 3, 0
_GPUS, _CPUS = 8, 96
"""The devices and cores of its default node."""


def main(directory: str, jobs: str, nodes: str, most_s: str) -> None:
    """Run the simulator and print what it reports, CPU seconds, peak memory in MiB, and means for each job."""
    # Only its plots use matplotlib.
    sys.modules |= {name: ModuleType(name) for name in ("matplotlib", "matplotlib.pyplot")}
    sys.path.insert(0, directory)

    merged, _, count = nodes.rpartition(":")
    n_jobs = len(Path(jobs).read_text().splitlines()) - 1
    started = time.process_time()
    simulator = import_module("simulator").Simulator(
        csv_file=jobs,
        alloc_policy=_FIFO,
        preempt_policy=_LARGE_GANG_FIRST,
        sort_node_policy=_BY_NUMBER,
        num_nodes=1 if merged else int(count),
        num_gpus=int(count) * _GPUS,
        num_cpus=int(count) * _CPUS,
        num_spare_node=0,
        pattern=0,
        arrival_rate=-1,
        num_jobs_limit=n_jobs,
        max_time=int(1e9),
    )
    simulator.init_go()
    while not simulator.exit_flag and time.process_time() - started < float(most_s):
        simulator.tic(simulator.delta)
    seconds = time.process_time() - started
    history = simulator.cluster.job_history
    n_done = history.num_jobs_done
    by_job: dict[int, dict[str, Any]] = {}
    for done in history.job_done_list:
        last = by_job.get(done["job_id"])
        if last is None or last["jct"] < done["jct"]:
            by_job[done["job_id"]] = done
    waits_s = [done["jct"] - done["duration"] for done in by_job.values()]
    print(
        json.dumps(
            {
                "cpu_s": seconds,
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "n_done": n_done,
                "jct_s": history.jct_summary / n_done,
                "wait_s": history.wait_time_summary / n_done,
                "until_s": simulator.cur_time,
                "is_finished": bool(simulator.exit_flag),
                "n_jobs": len(by_job),
                "job_jct_s": sum(done["jct"] for done in by_job.values()) / len(by_job),
                "job_wait_s": sum(waits_s) / len(by_job),
                "n_waited": sum(wait > 0 for wait in waits_s),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A made-up job list in the form of PAI's simulator: `python pai_jobs.py JOBS FILE` writes the same bytes each time.

Sizes are as skewed as Weng et al., "MLaaS in the Wild", NSDI 2022, describe: most jobs have one instance and request a
fraction of a GPU or one, and few gangs request most of the GPUs. Runtimes are log-normal, with a median of ten minutes and
a mean near the 5,039 seconds of the simulator's published log, and at most its makespan. Jobs arrive at 1,000 per minute,
the default rate of the simulator.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = "job_id,user,gpu_type,num_inst,num_gpu,num_cpu,submit_time,duration"
_SEED = 20_261_128
_GPUS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 0.0)
_GPUS_WEIGHTS = (5, 25, 22, 38, 3, 1, 1, 5)
_INSTANCES = (1, 2, 4, 8, 16, 32, 64)
_INSTANCES_WEIGHTS = (800, 80, 50, 35, 20, 10, 5)
_TYPES = ("MISC", "T4", "P100", "V100")
_TYPES_WEIGHTS = (40, 25, 20, 15)
_MEDIAN_S, _SIGMA, _LONGEST_S = 600.0, 2.06, 535_706
_PER_MINUTE = 1_000
_N_USERS = 1_200


def rows(n_jobs: int) -> Iterator[str]:
    """Yield the header and the jobs in order of their submission."""
    rng = random.Random(_SEED)
    yield COLUMNS
    for number in range(n_jobs):
        gpus = rng.choices(_GPUS, _GPUS_WEIGHTS)[0]
        n_instances = rng.choices(_INSTANCES, _INSTANCES_WEIGHTS)[0] if gpus <= 1 else 1
        kind = rng.choices(_TYPES, _TYPES_WEIGHTS)[0] if gpus else "CPU"
        cpu = rng.choice((2, 4, 6, 8))
        user = f"u{int(rng.paretovariate(1)) % _N_USERS:04}"
        duration = min(_LONGEST_S, max(1, int(_MEDIAN_S * rng.lognormvariate(0, _SIGMA))))
        yield f"{number},{user},{kind},{n_instances},{gpus},{cpu},{number * 60 // _PER_MINUTE},{duration}"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text("\n".join(rows(int(sys.argv[1]))) + "\n")

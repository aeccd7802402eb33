"""One cycle of the scheduler in a separate process: `python scheduler_run.py KIND NODES PODS ACTIONS` prints JSON.

Excludes the cluster's construction; includes opening the session, shares and all actions.
"""

from __future__ import annotations

import json
import resource
import sys
import time

# Run as a file, the script has its own folder on the path.
from clusters import mixed_cluster, pending_cluster

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.snapshot import Settings


def main(kind: str, nodes: str, pods: str, actions: str) -> None:
    """Run the cycle and print seconds of CPU, the peak of memory in MiB, and the number of decisions."""
    snapshot = (pending_cluster if kind == "pending" else mixed_cluster)(int(nodes), int(pods))
    before = _resident_mib()
    settings = Settings() if actions == "all" else Settings(actions=tuple(actions.split(",")))
    started = time.process_time()
    session = cycle(snapshot, settings)
    seconds = time.process_time() - started
    decided = session.decided
    print(
        json.dumps(
            {
                "cpu_s": seconds,
                "peak_mib": _resident_mib(),
                "built_mib": before,
                "bound": len(decided.binds),
                "waiting": len(decided.pipelines),
                "evicted": len(decided.evictions),
            }
        )
    )


def _resident_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])

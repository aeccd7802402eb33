"""One cycle of the scheduler in a process of its own: `python scheduler_run.py KIND NODES PODS ACTIONS` prints JSON.

The cluster's construction is not counted; opening the session, shares and all actions are.
"""

from __future__ import annotations

import json
import resource
import sys
import time

# The script's own folder is on the path: it is run as a file.
from clusters import mixed_cluster, pending_cluster

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.snapshot import Settings


def main(kind: str, nodes: str, pods: str, actions: str) -> None:
    """Run the cycle and print seconds of CPU, the peak of memory in MiB, and what was decided."""
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

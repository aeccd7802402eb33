"""A full cluster with thousands of running workloads, as `kubectl get -o json` prints it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.review import kai_objects, kueue_objects


def write_cluster(file: Path, engine: str, queues: list[str], n_workloads: int) -> None:
    """Write running workloads of one GPU each, spread over the queues, and one in twenty that waits."""
    names = [(f"job-{n}", {"queue": queues[n % len(queues)], "gpus": 1}) for n in range(n_workloads * 21 // 20)]
    cluster = {
        "nodes": n_workloads // 8,
        "queues": {queue: {} for queue in queues},
        "running": dict(names[:n_workloads]),
        "pending": dict(names[n_workloads:]),
    }
    if engine == "kai":
        file.write_text(json.dumps({"items": list(kai_objects.objects_of({**cluster, "queues": {}}))}))
        return
    text = json.dumps({"items": list(kueue_objects.objects_of(cluster))})
    file.write_text(text.replace('"nvidia.com/gpu": "h100"', '"nvidia.com/gpu": "pool-00"'))

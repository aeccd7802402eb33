"""Clusters that the real KAI Scheduler ran until they came to rest, and the running pods after each of its cycles.

`live_run` runs the live scheduler on the same clusters, and `simulated_run` the core alone: kai_convergence/README.md.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.unit.review.kai_shard_objects import SNAPSHOT_S, START, objects_of

from apportion_runtime.core.rounds import rounds
from apportion_runtime.core.status import BINDING, RUNNING
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import ObjectLocation
from apportion_runtime.snapshots.kubernetes.reader import read_cluster

EXPLAINED = {
    64: "in one cycle KAI binds a pod and evicts it for another gang: it is bound to the first node and terminates there; "
    "the live scheduler does not bind it, and the simulation lets it terminate on the node that was chosen last",
}
"""Clusters in which other pods run than under KAI, by seed."""
_CLUSTERS = Path(__file__).parent / "kai_convergence" / "clusters.jsonl.gz"
NOW = START + SNAPSHOT_S
Placements = frozenset[tuple[str, str]]
"""Pods that run, or are bound and not evicted, and their nodes."""


@dataclass(frozen=True, slots=True)
class RecordedCluster:
    """A described cluster, and what runs in it after each cycle of the real scheduler; `interval_s` passes in between."""

    seed: int
    interval_s: float
    cluster: Mapping[str, Any]
    running: tuple[Placements, ...]

    def objects(self) -> list[dict[str, Any]]:
        return list(objects_of(self.cluster))


def recorded_clusters() -> Iterator[RecordedCluster]:
    with gzip.open(_CLUSTERS, "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            yield RecordedCluster(line["seed"], line["interval_s"], line["cluster"], tuple(_after_each_cycle(line)))


def _after_each_cycle(line: Mapping[str, Any]) -> Iterator[Placements]:
    nodes = {
        f"{name}-{number}": pod["node"]
        for name, gang in line["cluster"]["gangs"].items()
        for number, pod in enumerate(gang["pods"])
        if "node" in pod
    }
    for events in line["cycles"]:
        for pod, *node in events:
            # An eviction has no node.
            nodes.pop(pod, None)
            if node:
                nodes[pod] = node[0]
        yield frozenset(nodes.items())


def simulated_run(one: RecordedCluster) -> Iterator[Placements]:
    """Yield what runs after each cycle of the core, on the snapshot of a cluster's objects."""
    located = [LocatedObject(made, ObjectLocation(0, 0)) for made in one.objects()]
    read = read_cluster(located, [], now=NOW, shard=None)
    last: Placements = frozenset()
    n_cycles = 0
    for session in rounds(read.snapshot, read.settings, len(one.running), one.interval_s):
        last = frozenset(
            (task.pod.name, session.nodes.names[task.node])
            for job in session.jobs.values()
            for task in job.tasks.values()
            if task.status in (RUNNING, BINDING)
        )
        n_cycles += 1
        yield last
    # It ends early where time changes nothing.
    for _ in range(n_cycles, len(one.running)):
        yield last

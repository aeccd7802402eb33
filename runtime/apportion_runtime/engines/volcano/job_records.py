"""What the simulated Volcano keeps about a job between its changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from apportion_runtime.engines.kube_scheduler.equivalence import EquivalenceClass


class JobAmounts(NamedTuple):
    """What a job adds to its queue: the resources that it holds, requests, has in queue, and holds beyond its minimum."""

    queue: str
    held: Mapping[str, int]
    requested: Mapping[str, int]
    inqueue: Mapping[str, int]
    elastic: Mapping[str, int]


class JobShape(NamedTuple):
    """What jobs have in common that are all schedulable or all unschedulable.

    `counts` are the pods to place, all pods, the gang minimum, and the ready, pipelined and pending best-effort pods;
    `holder` is the job if it has placed pods.
    """

    queue: str
    priority: int
    of_pods: EquivalenceClass
    counts: tuple[int, ...]
    holder: str

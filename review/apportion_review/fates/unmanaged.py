"""Running work outside the engine: it occupies nodes, and no quota of the engine evicts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from apportion_compiler.plain_objects import Manifest, text
from apportion_review.fates.workloads import OwnedPods, gpus_of

SYSTEM_NAMESPACES = frozenset(("kube-system", "kube-public", "kube-node-lease"))
_DEFAULT = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Unmanaged:
    """A running workload that the engine neither schedules nor charges to a queue.

    Attributes:
        kind: Kind of its owner; `Pod` for a pod without one.
        namespace: Its namespace.
        name: Its name.
        schedulers: The `schedulerName` of its pods, in order.
        gpus: Thousandths of a GPU for each model, as in `Workload`.
        n_pods: Number of running pods.
    """

    kind: str
    namespace: str
    name: str
    schedulers: tuple[str, ...]
    gpus: Mapping[str, int]
    n_pods: int


def scheduler_of(pod: Manifest) -> str:
    """Return the scheduler of a pod, including the API server's default."""
    return text(pod, "spec", "schedulerName") or _DEFAULT


def unmanaged(owners: Iterable[OwnedPods], models: Mapping[str, str]) -> tuple[Unmanaged, ...]:
    """Return workloads without pods of the engine, except in Kubernetes' own namespaces.

    Args:
        owners: Their pods.
        models: The GPU model of each node.
    """
    return tuple(
        Unmanaged(
            owned.owner.kind,
            owned.owner.namespace,
            owned.owner.name,
            tuple(sorted({scheduler_of(pod) for pod in owned.pods})),
            gpus_of(owned.pods, models),
            len(owned.pods),
        )
        for owned in owners
        if owned.owner.namespace not in SYSTEM_NAMESPACES
    )

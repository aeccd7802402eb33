"""The engines that divide GPUs into shares, and how each of the others treats what is not guaranteed.

An engine's functions are loaded when a cluster needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from apportion_compiler.engines.registry import EngineParts
from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.shares.division_records import Division, DivisionInputs, ShareProof
from apportion_review.shares.records import Demand

EveryoneInputs = Callable[[Sequence[Manifest], Mapping[str, int | None]], Iterator[DivisionInputs]]

EVERYONE_INPUTS: Mapping[str, EveryoneInputs] = EngineParts(
    {
        "kai": "apportion_review.shares.kai:kai_inputs",
        "koordinator": "apportion_review.shares.koordinator:koordinator_inputs",
    }
)
"""By engine: what is divided if every queue requests everything."""
SnapshotInputs = Callable[[ClusterState, Sequence[str]], Iterator[DivisionInputs]]
SNAPSHOT_INPUTS: Mapping[str, SnapshotInputs] = EngineParts(
    {
        "kai": "apportion_review.shares.kai:kai_snapshot_inputs",
        "koordinator": "apportion_review.shares.koordinator:koordinator_snapshot_inputs",
    }
)
"""By engine: what is divided with the requests of a snapshot's pods."""
_DIVISIONS: Mapping[str, Callable[[DivisionInputs], Iterator[Division]]] = EngineParts(
    {
        "kai": "apportion_review.shares.kai:kai_divisions",
        "koordinator": "apportion_review.shares.koordinator:koordinator_divisions",
    }
)
NO_SHARES: Mapping[str, str] = {
    "ack": "ACK has no fair shares: a quota reclaims up to its min, and uses up to its max while others do not need it.",
    "kueue": "Kueue has no fair shares: a ClusterQueue reclaims its nominal quota, and borrows what its cohort lends "
    "in the order of its workloads; fair sharing compares what queues have borrowed.",
    "native": "Kubernetes has no fair shares: a ResourceQuota is a limit.",
    "volcano": "Volcano's capacity plugin has no fair shares: a queue reclaims up to its declared deserved amount.",
    "yunikorn": "YuniKorn has no fair shares: a queue preempts up to its guarantee, and uses up to its max.",
}
"""Why the other engines have no shares."""


def has_shares(engine: str) -> bool:
    """Tell whether an engine divides GPUs into shares."""
    return engine in _DIVISIONS


def proof_of(side: str, demand: Demand, inputs: DivisionInputs) -> ShareProof:
    """Return the divisions that lead to the shares of all queues."""
    return ShareProof(side, demand, inputs, tuple(_DIVISIONS[inputs.engine](inputs)))

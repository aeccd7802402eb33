"""The interface of an engine's shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from apportion_compiler.plain_objects import Manifest
from apportion_review.fates.cluster_state import ClusterState
from apportion_review.shares.division_records import Division, DivisionInputs

CAN_USE = "a share is the maximum that a queue can use while all other queues use everything that they can reclaim."
AGES = "Fair shares assume that every queue requests all resources, and that all queues are the same age."
PODS = "Fair shares for the snapshot are computed from its nodes and its running and pending pods."


@dataclass(frozen=True, slots=True)
class ShareEngine:
    """The computation of an engine's shares.

    Attributes:
        everyone: Yields the inputs if every queue requests all resources, from the compiled objects and the capacities.
        snapshot: Yields the inputs with the requests of a snapshot, for the resources that the policy counts.
        divisions: Yields the division of each level.
        note: Meaning of the shares; empty for fair shares.
        assumes: Assumption if every queue requests all resources.
        counts: Inputs of the shares for a snapshot.
    """

    everyone: Callable[[Sequence[Manifest], Mapping[str, int | None]], Iterator[DivisionInputs]]
    snapshot: Callable[[ClusterState, Sequence[str]], Iterator[DivisionInputs]]
    divisions: Callable[[DivisionInputs], Iterator[Division]]
    note: str = ""
    assumes: str = "Shares assume that every queue requests all resources."
    counts: str = "Shares for the snapshot are computed from its nodes and its running and pending pods."

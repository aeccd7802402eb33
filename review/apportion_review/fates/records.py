"""Records of the fates of running work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from apportion_review.fates.unmanaged import Unmanaged


class Fate(str, Enum):
    """The fate of a running workload, from least to most severe; `UNKNOWN` ranks only above `SAFE`."""

    SAFE = "safe"
    UNKNOWN = "unknown"
    ON_DEMAND = "reclaimable on demand"
    STUCK = "stuck over its limit"
    EVICTED = "evicted now"

    @property
    def severity(self) -> int:
        """Rank of the fate: 0 for `SAFE`."""
        return list(Fate).index(self)


@dataclass(frozen=True, slots=True)
class Workload:
    """A running workload of a snapshot.

    Attributes:
        kind: Kind of its owner, such as `RayJob`; `Pod` for a pod without one.
        namespace: Its namespace.
        name: Its name.
        queue: The queue to which it is charged, by its id in the policy, or by the engine's name if the policy has no
            such queue.
        gpus: Thousandths of a GPU by the policy's model name; `gpu` if the model is unknown.
        n_pods: Running pods.
        priority_class: Its priority class; empty without one.
        is_preemptible: None if the engine does not distinguish.
        started: Seconds since the epoch; None if the snapshot does not record it.
    """

    kind: str
    namespace: str
    name: str
    queue: str
    gpus: Mapping[str, int]
    n_pods: int
    priority_class: str = ""
    is_preemptible: bool | None = None
    started: float | None = None

    @property
    def key(self) -> str:
        """`kind namespace/name`: unique in a snapshot."""
        return f"{self.kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The fate of a workload under one policy, and the reason.

    Attributes:
        fate: The fate.
        rule: The engine's rule that decides, as a clause: "over its queue's quota, and preemptible".
        beneficiary: The queue or workload for which it is evicted; empty if unknown.
    """

    fate: Fate
    rule: str
    beneficiary: str = ""


@dataclass(frozen=True, slots=True)
class WorkloadFate:
    """A running workload with its verdict under both policies."""

    workload: Workload
    base: Verdict
    head: Verdict

    @property
    def is_changed(self) -> bool:
        """Whether the policy change affects the fate."""
        return self.base.fate is not self.head.fate

    @property
    def is_worse(self) -> bool:
        """Whether the head's fate is more severe, or newly possible for other queues instead of only its own.

        A fate that becomes unknown may be any, so it is worse than every known one except `EVICTED`.
        """
        if self.base.fate is self.head.fate is Fate.ON_DEMAND:
            return self._is_by_others(self.head) and not self._is_by_others(self.base)
        if self.head.fate is Fate.UNKNOWN:
            return self.base.fate not in (Fate.UNKNOWN, Fate.EVICTED)
        return self.head.fate.severity > self.base.fate.severity

    def _is_by_others(self, verdict: Verdict) -> bool:
        return verdict.beneficiary not in ("", self.workload.queue)


@dataclass(frozen=True, slots=True)
class EngineFates:
    """The fates of all running work of one cluster.

    Attributes:
        engine: Engine that decides, such as `kai`.
        source: Its name and the version that the rules were read from: `KAI Scheduler v0.17.0`.
        is_verified: Whether recorded runs of the real engine stand behind the rules.
        unverified: What is not compared with the real engine, as a clause, if `is_verified` is false.
        rows: One for each running workload, in order of namespace and name.
        notes: What the model does not take into account, one sentence each.
        why_incomplete: Why pending work may evict more than is found, as a clause; empty if the cycles ran to their end.
        unmanaged: Running workloads that are not the engine's, in the same order.
    """

    engine: str
    source: str
    is_verified: bool
    rows: tuple[WorkloadFate, ...]
    notes: tuple[str, ...] = ()
    why_incomplete: str = ""
    unmanaged: tuple[Unmanaged, ...] = ()
    unverified: str = "modelled, not verified"

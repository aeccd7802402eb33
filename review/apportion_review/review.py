"""The review of a change as one record: the comment, the page, the text and the JSON document are made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_review.diff_report import DiffReport
from apportion_review.fates.records import EngineFates, WorkloadFate
from apportion_review.shares.division_records import ShareProof
from apportion_review.shares.records import PoolHeadroom, ShareChange


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A snapshot of a cluster's objects.

    Attributes:
        name: File as the user named it.
        digest: `sha256:…` of its content.
        taken: Seconds since the epoch: the newest time in it; None if it has none.
        age_s: Seconds from then to the review; None if either is unknown.
    """

    name: str
    digest: str
    taken: float | None
    age_s: int | None


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """What a simulation under one load gives a queue, before and after; waits in seconds, None if nothing started.

    Attributes:
        queue: Id; empty for the whole cluster.
        wait_p50: Base and head.
        wait_p90: Base and head.
        evictions: Base and head.
        lost_gpu_s: Work lost to evictions in thousandths of a GPU times seconds, base and head.
    """

    queue: str
    wait_p50: tuple[float | None, float | None]
    wait_p90: tuple[float | None, float | None]
    evictions: tuple[int, int]
    lost_gpu_s: tuple[int, int]


@dataclass(frozen=True, slots=True)
class LoadComparison:
    """The same load simulated under base and head.

    Attributes:
        load: Scenario or trace, as the user named it.
        digest: `sha256:…` of its content.
        assumption: What the simulation assumes, as a sentence.
        rows: The cluster first, then queues that differ.
        n_unchanged: Queues without a difference.
    """

    load: str
    digest: str
    assumption: str
    rows: tuple[QueueLoad, ...]
    n_unchanged: int


@dataclass(frozen=True, slots=True)
class RolloutStep:
    """One update of `apportion up`, valid by itself: sentences such as "lower `vision`", and the queues drained first."""

    actions: tuple[str, ...]
    drains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollout:
    """The updates that apply the change to one cluster, and those that undo it."""

    steps: tuple[RolloutStep, ...]
    undo: tuple[RolloutStep, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterReview:
    """What the change means for one cluster.

    Attributes:
        name: `environment/cluster`.
        engine: Engine of the head (of the base if the head has no such cluster).
        snapshot: The snapshot that fates were decided from; None without one.
        fates: None without a snapshot, or if the engine's fates cannot be decided.
        why_no_fates: Why not, as a clause: "no snapshot".
        shares: Changed rows first, then the others.
        proofs: The divisions that lead to the shares which change.
        headroom: One row for each resource that has a capacity or a guarantee.
        load: The A/B simulation; None without a load.
        rollout: None if a side does not compile.
        notes: What was assumed or left out, one sentence each.
    """

    name: str
    engine: str
    snapshot: SnapshotInfo | None = None
    fates: EngineFates | None = None
    why_no_fates: str = ""
    shares: tuple[ShareChange, ...] = ()
    proofs: tuple[ShareProof, ...] = ()
    headroom: tuple[PoolHeadroom, ...] = ()
    load: LoadComparison | None = None
    rollout: Rollout | None = None
    notes: tuple[str, ...] = ()

    @property
    def worse(self) -> tuple[WorkloadFate, ...]:
        """Running workloads whose fate is worse in the head, most severe first."""
        rows = () if self.fates is None else self.fates.rows
        return tuple(sorted((r for r in rows if r.is_worse), key=lambda r: -r.head.fate.severity))


@dataclass(frozen=True, slots=True)
class FindingChanges:
    """Findings that appear with the change and those that it resolves; `n_unchanged` are in both."""

    appeared: tuple[Diagnostic, ...] = ()
    resolved: tuple[Diagnostic, ...] = ()
    n_unchanged: int = 0


@dataclass(frozen=True, slots=True)
class FidelityChange:
    """A field whose fidelity on a cluster's engine changes; empty where a side does not use the field."""

    cluster: str
    engine: str
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Approval:
    """An owner who must agree, with the reasons: "`vision` loses 16 H100 guaranteed in prod"."""

    owner: str
    reasons: tuple[str, ...]
    is_given: bool = False


ALL = "all"
"""The threshold of `--require-approvals`: every owner must have approved."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold that the user set, and what was found: exit 11 if any has failed.

    Attributes:
        name: The option, such as `--max-evictions`.
        threshold: As given.
        found: The value, as text.
        has_failed: Whether the value exceeds the threshold, or is unknown.
    """

    name: str
    threshold: str
    found: str
    has_failed: bool

    @property
    def label(self) -> str:
        """`--max-evictions 0`; without the threshold `all`, which is not a value of the option."""
        return self.name if self.threshold == ALL else f"{self.name} {self.threshold}"


@dataclass(frozen=True)
class Review:
    """A reviewed change.

    Attributes:
        diff: The difference between the policies.
        clusters: Each cluster of either policy, in the order of the head.
        findings: Findings that change.
        fidelity: Fidelity that changes.
        approvals: Who must agree, in order of owner.
        gates: The gates that were set.
        digests: `sha256:…` of each input, by name.
        version: Of apportion.
        command: A command that produces the same report again.
        is_redacted: Whether names of workloads were replaced.
        broken: Each side that does not compile, with why not as a clause.
    """

    diff: DiffReport
    clusters: tuple[ClusterReview, ...]
    findings: FindingChanges
    fidelity: tuple[FidelityChange, ...]
    approvals: tuple[Approval, ...]
    gates: tuple[Gate, ...]
    digests: Mapping[str, str]
    version: str
    command: str
    is_redacted: bool = False
    broken: tuple[tuple[str, str], ...] = ()

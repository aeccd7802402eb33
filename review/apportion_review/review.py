"""The review of a change as one record, from which all output formats are rendered."""

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
        name: Name of the file on the command line.
        digest: Digest of its content, `sha256:…`.
        taken: The newest time in it, in seconds since the epoch; None if it has none.
        age_s: Seconds from then to the review; None if either is unknown.
    """

    name: str
    digest: str
    taken: float | None
    age_s: int | None


@dataclass(frozen=True, slots=True)
class Wait:
    """A percentile of the waits of a queue's pod groups.

    Attributes:
        seconds: Its length; the waits of groups that have not started last until the end of the simulation.
        is_lower_bound: Whether it would be longer in a longer simulation, because a group has not started.
    """

    seconds: float
    is_lower_bound: bool = False


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The results of a queue in a simulation, before and after; waits are None if no pod group waited.

    Attributes:
        queue: Id; empty for the whole cluster.
        wait_p50: Median wait in base and head.
        wait_p90: 90th percentile of waits in base and head.
        n_not_started: Number of pod groups that wait at the end of the simulation, in base and head.
        evictions: Number of evictions in base and head.
        lost_gpu_s: Work lost to evictions in thousandths of a GPU times seconds, base and head.
    """

    queue: str
    wait_p50: tuple[Wait | None, Wait | None]
    wait_p90: tuple[Wait | None, Wait | None]
    n_not_started: tuple[int, int]
    evictions: tuple[int, int]
    lost_gpu_s: tuple[int, int]


@dataclass(frozen=True, slots=True)
class LoadComparison:
    """A load simulated under base and head.

    Attributes:
        load: Name of the scenario or trace.
        digest: Digest of its content, `sha256:…`.
        assumption: The assumption of the simulation, as a sentence.
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
    """One valid update of `apportion up`: sentences such as "lower `vision`", and the queues to drain first."""

    actions: tuple[str, ...]
    drains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rollout:
    """The updates that apply the change to one cluster, and those that revert it."""

    steps: tuple[RolloutStep, ...]
    undo: tuple[RolloutStep, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterReview:
    """The effects of the change on one cluster.

    Attributes:
        name: `environment/cluster`.
        engine: Engine of the head (of the base if the head has no such cluster).
        snapshot: The snapshot on which fates are based; None without one.
        fates: The fates; None without a snapshot, or if the engine's fates cannot be decided.
        why_no_fates: Why not, as a clause: "no snapshot".
        shares: Changed rows first, then the others.
        proofs: The divisions that lead to changed shares.
        headroom: One row for each resource that has a capacity or a guarantee.
        load: The A/B simulation; None without a load.
        rollout: The updates; None if a side does not compile.
        notes: Assumptions and omissions, one sentence each.
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
        """Running workloads with a worse fate in the head, most severe first."""
        rows = () if self.fates is None else self.fates.rows
        return tuple(sorted((r for r in rows if r.is_worse), key=lambda r: -r.head.fate.severity))


@dataclass(frozen=True, slots=True)
class FindingChanges:
    """Findings that the change adds and those that it resolves; `n_unchanged` are in both."""

    appeared: tuple[Diagnostic, ...] = ()
    resolved: tuple[Diagnostic, ...] = ()
    n_unchanged: int = 0


@dataclass(frozen=True, slots=True)
class FidelityChange:
    """A feature whose fidelity on a cluster's engine changes; empty if a side does not use the feature."""

    cluster: str
    engine: str
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Approval:
    """An owner who must approve, with the reasons: "`vision` loses 16 H100 guaranteed in prod"."""

    owner: str
    reasons: tuple[str, ...]
    is_given: bool = False


ALL = "all"
"""The threshold of `--require-approvals`: every owner must have approved."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A threshold set by the user, and the measured value: exit 11 if any has failed.

    Attributes:
        name: The option, such as `--max-evictions`.
        threshold: As given.
        found: The measured value, as text.
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
        clusters: All clusters of both policies, in the order of the head.
        findings: Added and resolved findings.
        fidelity: Changes of fidelity.
        approvals: Required approvals, in order of owner.
        gates: The gates that are set.
        digests: Digest of each input, `sha256:…`, by name.
        version: Version of apportion.
        command: A command that reproduces the report.
        is_redacted: Whether names of workloads are replaced by hashes.
        broken: Sides that do not compile, with the reason as a clause.
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

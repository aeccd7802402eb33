"""The review of each cluster: all parts of a review that concern a single cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from apportion_api.counted_nouns import counted
from apportion_compiler.engine_versions import parse_version
from apportion_compiler.engines.native.emit.scheduler import SCHEDULER_FILE
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.plain_objects import Manifest
from apportion_review.differences import Differences
from apportion_review.facts import QUEUE
from apportion_review.fates.cluster_objects import objects_under
from apportion_review.fates.cluster_state import ClusterState, cluster_states
from apportion_review.fates.engine_fates import engine_fates, has_fates
from apportion_review.fates.records import EngineFates
from apportion_review.fates.workloads import gpus_of
from apportion_review.policy_side import PolicySide
from apportion_review.review import ClusterReview, SnapshotInfo
from apportion_review.shares.cluster_shares import ShareSide, by_row, cluster_shares, proofs_of_changes
from apportion_review.shares.records import PoolHeadroom
from apportion_review.shares.share_changes import pool_headroom, share_changes
from apportion_review.unreadable_requests import why_unreadable
from apportion_runtime.snapshots.document_loader import documents_of

_RUNNING_WORK = frozenset(("Pod", "Workload"))


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The objects of a cluster at one point in time."""

    info: SnapshotInfo
    objects: Sequence[Manifest]


def cluster_reviews(
    base: PolicySide, head: PolicySide, found: Differences, snapshots: Mapping[str, ClusterSnapshot]
) -> tuple[ClusterReview, ...]:
    """Review each cluster of two policies.

    Args:
        base: The former policy.
        head: The changed policy.
        found: The differences between the policies.
        snapshots: By cluster, such as `prod/gpu-1`.
    """
    clusters = dict.fromkeys((*head.facts.clusters, *base.facts.clusters))
    return tuple(_cluster_review(name, base, head, found, snapshots.get(name)) for name in clusters)


def _cluster_review(
    name: str, base: PolicySide, head: PolicySide, found: Differences, snapshot: ClusterSnapshot | None
) -> ClusterReview:
    engine = next(side.checked.programs[name].engine for side in (head, base) if name in side.checked.programs)
    states = states_of(name, base, head, snapshot)
    fates, why_not = _fates(name, engine, base, head, snapshot, states=states)
    headroom = pool_headroom(name, base.checked.graph, head.checked.graph)
    shares = cluster_shares(*share_sides(name, base, head, headroom, states))
    rows = share_changes(name, found, (by_row(shares.base), by_row(shares.head)))
    former_names = {rename.after: rename.before for rename in found.renames if rename.kind == QUEUE}
    return ClusterReview(
        name,
        engine,
        snapshot=None if snapshot is None else snapshot.info,
        fates=fates,
        why_no_fates=why_not,
        shares=rows,
        proofs=proofs_of_changes(shares, rows, former_names),
        headroom=headroom,
        notes=shares.notes,
    )


def states_of(
    name: str, base: PolicySide, head: PolicySide, snapshot: ClusterSnapshot | None
) -> tuple[ClusterState, ClusterState] | None:
    """Return the cluster of a snapshot under both policies; None if the snapshot has no running work, or unreadable requests."""
    if snapshot is None or not any(each.get("kind") in _RUNNING_WORK for each in snapshot.objects):
        return None
    if why_unreadable(snapshot.objects):
        return None
    former, wanted = ([*manifests_of(side, name), *_configurations(side, name)] for side in (base, head))
    before = objects_under(snapshot.objects, (), former)
    return cluster_states(before, objects_under(before, former, wanted), now=snapshot.info.taken)


def share_sides(
    name: str,
    base: PolicySide,
    head: PolicySide,
    headroom: Sequence[PoolHeadroom],
    states: tuple[ClusterState, ClusterState] | None,
) -> tuple[ShareSide, ShareSide]:
    """Return what a cluster's shares are computed from, under both policies.

    Args:
        name: Of the cluster.
        base: The former policy.
        head: The changed one.
        headroom: The capacity of the cluster on both sides.
        states: The cluster of the snapshot under both; None without one.
    """
    former, wanted = (manifests_of(side, name) for side in (base, head))
    before, after = (None, None) if states is None else states
    capacities = (
        {row.resource: row.capacity_before for row in headroom},
        {row.resource: row.capacity_after for row in headroom},
    )
    return (
        ShareSide(_engine(name, base), former, capacities[0], before if former else None),
        ShareSide(_engine(name, head), wanted, capacities[1], after if wanted else None),
    )


def _engine(name: str, side: PolicySide) -> str:
    return side.checked.programs[name].engine if name in side.checked.programs else ""


def _fates(
    name: str,
    engine: str,
    base: PolicySide,
    head: PolicySide,
    snapshot: ClusterSnapshot | None,
    *,
    states: tuple[ClusterState, ClusterState] | None,
) -> tuple[EngineFates | None, str]:
    if snapshot is None:
        return None, "no snapshot of the cluster was provided"
    if states is None:
        why = why_unreadable(snapshot.objects)
        return None, f"{snapshot.info.name} contains invalid resource requests: {why}" if why else (
            f"{snapshot.info.name} contains neither pods nor workloads"
        )
    if not has_fates(engine):
        return None, f"evictions on {TRAITS[engine].title} are not modelled"
    for side in (base, head):
        if side.why_not_compiled:
            return None, f"{side.name} {side.why_not_compiled}"
        if name not in side.facts.clusters:
            return None, f"{side.name} does not contain the cluster"
        if (other := side.checked.programs[name].engine) != engine:
            return None, f"the engine changes from {TRAITS[other].title} to {TRAITS[engine].title}"
    fates = engine_fates(engine, *states)
    n_pods = 0 if fates.rows else sum(_runs_with_gpus(each) for each in snapshot.objects)
    if n_pods:
        pods = counted(n_pods, "running pod with GPUs", "running pods with GPUs")
        why = f": {fates.why_incomplete}" if fates.why_incomplete else ""
        return None, f"{snapshot.info.name} contains {pods}, but no workloads scheduled by {fates.source}{why}"
    return _of_versions(fates, *(side.checked.programs[name].engine_version for side in (base, head))), ""


def _of_versions(fates: EngineFates, before: str, after: str) -> EngineFates:
    """Return fates as incomplete if the engine's minor version changes: the rules are those of a single version."""
    if before == after or None is not parse_version(before) == parse_version(after):
        return fates
    why = f"the engine version changes from {before} to {after}; both are evaluated with the rules of {fates.source}"
    return replace(fates, why_incomplete=" and ".join(filter(None, (fates.why_incomplete, why))))


def _runs_with_gpus(manifest: Manifest) -> bool:
    """Return whether an object is a running pod that requests GPUs."""
    status = manifest.get("status")
    if manifest.get("kind") != "Pod" or not isinstance(status, Mapping):
        return False
    return cast("Mapping[str, object]", status).get("phase") == "Running" and bool(gpus_of((manifest,), {}))


def manifests_of(side: PolicySide, cluster: str) -> list[Manifest]:
    """Return the compiled objects of all targets of a cluster; none if the policy does not compile."""
    outputs = {} if side.compilation is None else side.compilation.outputs
    return [m for target, output in outputs.items() if target.scope == cluster for m in output.manifests]


def _configurations(side: PolicySide, cluster: str) -> list[Manifest]:
    """Return the configuration of kube-scheduler that is compiled for a cluster, under the name of its kind."""
    outputs = {} if side.compilation is None else side.compilation.outputs
    texts = [
        artifact.content
        for target, output in outputs.items()
        if target.scope == cluster
        for artifact in output.artifacts
        if artifact.name == SCHEDULER_FILE
    ]
    documents = [cast("Manifest", made) for text in texts for made in documents_of(text)]
    return [{**made, "metadata": {"name": str(made["kind"]).lower()}} for made in documents]

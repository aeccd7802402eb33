"""The review as a versioned JSON document: every row, with exact values in base units."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from apportion_compiler.diagnostics.diagnostic import Diagnostic
from apportion_policy.quantity import Unlimited
from apportion_review.diff_document import API_VERSION, diff_document
from apportion_review.fates.records import EngineFates, Verdict, WorkloadFate
from apportion_review.fates.unmanaged import Unmanaged
from apportion_review.report.verdict import verdict
from apportion_review.review import ClusterReview, LoadComparison, Review, Rollout, RolloutStep
from apportion_review.shares.division_document import proof_document
from apportion_review.shares.records import QueueAmounts, ShareChange


def review_json(review: Review) -> str:
    """Return the review as JSON."""
    return json.dumps(review_document(review), indent=2, ensure_ascii=False) + "\n"


def review_document(review: Review) -> dict[str, Any]:
    """Return the review as a document of kind `PolicyReview`.

    GPUs are in thousandths, CPU in millicores, memory in bytes, lost work in thousandths of a GPU times seconds. Unset
    and unknown values are null, and an unlimited amount is the string `unlimited`.
    """
    found = verdict(review)
    return {
        "apiVersion": API_VERSION,
        "kind": "PolicyReview",
        "apportion": review.version,
        "command": review.command,
        "digests": dict(review.digests),
        "redacted": review.is_redacted,
        "verdict": {"level": found.level.value, "headline": found.headline, "needs": list(found.needs)},
        "broken": [{"side": name, "why": why} for name, why in review.broken],
        "gates": [
            {"name": g.name, "threshold": g.threshold, "found": g.found, "failed": g.has_failed} for g in review.gates
        ],
        "approvals": [
            {"owner": each.owner, "reasons": list(each.reasons), "given": each.is_given} for each in review.approvals
        ],
        "clusters": [_cluster(cluster) for cluster in review.clusters],
        "findings": {
            "appeared": [_finding(each) for each in review.findings.appeared],
            "resolved": [_finding(each) for each in review.findings.resolved],
            "unchanged": review.findings.n_unchanged,
        },
        "fidelity": [
            {
                "cluster": each.cluster,
                "engine": each.engine,
                "field": each.field,
                "before": each.before or None,
                "after": each.after or None,
            }
            for each in review.fidelity
        ],
        "diff": diff_document(review.diff),
    }


def _cluster(cluster: ClusterReview) -> dict[str, Any]:
    info = cluster.snapshot
    return {
        "name": cluster.name,
        "engine": cluster.engine,
        "snapshot": None
        if info is None
        else {"name": info.name, "digest": info.digest, "taken": info.taken, "ageSeconds": info.age_s},
        "fates": None if cluster.fates is None else _fates(cluster.fates),
        "whyNoFates": cluster.why_no_fates or None,
        "shares": [_share(row) for row in cluster.shares],
        "shareProofs": [proof_document(proof) for proof in cluster.proofs],
        "headroom": [
            {
                "resource": row.resource,
                "capacity": [row.capacity_before, row.capacity_after],
                "oneNodeDown": [row.one_node_down_before, row.one_node_down_after],
                "guaranteed": [row.guaranteed_before, row.guaranteed_after],
            }
            for row in cluster.headroom
        ],
        "load": None if cluster.load is None else _load(cluster.load),
        "rollout": None if cluster.rollout is None else _rollout(cluster.rollout),
        "notes": list(cluster.notes),
    }


def _fates(fates: EngineFates) -> dict[str, Any]:
    return {
        "engine": fates.engine,
        "source": fates.source,
        "verified": fates.is_verified,
        "incomplete": fates.why_incomplete or None,
        "workloads": [_workload(row) for row in fates.rows],
        "unmanaged": [_unmanaged(each) for each in fates.unmanaged],
        "notes": list(fates.notes),
    }


def _workload(row: WorkloadFate) -> dict[str, Any]:
    workload = row.workload
    return {
        "kind": workload.kind,
        "namespace": workload.namespace,
        "name": workload.name,
        "queue": workload.queue,
        "gpus": dict(sorted(workload.gpus.items())),
        "pods": workload.n_pods,
        "priorityClass": workload.priority_class or None,
        "preemptible": workload.is_preemptible,
        "started": workload.started,
        "base": _verdict(row.base),
        "head": _verdict(row.head),
        "worse": row.is_worse,
    }


def _unmanaged(workload: Unmanaged) -> dict[str, Any]:
    return {
        "kind": workload.kind,
        "namespace": workload.namespace,
        "name": workload.name,
        "schedulers": list(workload.schedulers),
        "gpus": dict(sorted(workload.gpus.items())),
        "pods": workload.n_pods,
    }


def _verdict(found: Verdict) -> dict[str, Any]:
    return {"fate": found.fate.value, "rule": found.rule, "beneficiary": found.beneficiary or None}


def _share(row: ShareChange) -> dict[str, Any]:
    return {
        "queue": row.queue,
        "resource": row.resource,
        "owner": row.owner or None,
        "edited": row.is_touched,
        "base": None if row.base is None else _amounts(row.base),
        "head": None if row.head is None else _amounts(row.head),
    }


def _amounts(held: QueueAmounts) -> dict[str, Any]:
    shares: Mapping[str, int] = {demand.value: share for demand, share in held.shares.items()}
    limit = held.limit.value if isinstance(held.limit, Unlimited) else held.limit
    return {"guaranteed": held.guaranteed, "limit": limit, "shares": dict(shares)}


def _load(load: LoadComparison) -> dict[str, Any]:
    return {
        "load": load.load,
        "digest": load.digest,
        "assumption": load.assumption,
        "queues": [
            {
                "queue": row.queue or None,
                "waitP50Seconds": [None if wait is None else wait.seconds for wait in row.wait_p50],
                "waitP90Seconds": [None if wait is None else wait.seconds for wait in row.wait_p90],
                "waitP50IsLowerBound": [wait is not None and wait.is_lower_bound for wait in row.wait_p50],
                "waitP90IsLowerBound": [wait is not None and wait.is_lower_bound for wait in row.wait_p90],
                "notStarted": list(row.n_not_started),
                "evictions": list(row.evictions),
                "lostGpuSeconds": list(row.lost_gpu_s),
            }
            for row in load.rows
        ],
        "unchanged": load.n_unchanged,
    }


def _rollout(rollout: Rollout) -> dict[str, Any]:
    return {
        "steps": [_step(step) for step in rollout.steps],
        "undo": [_step(step) for step in rollout.undo],
        "warnings": list(rollout.warnings),
    }


def _step(step: RolloutStep) -> dict[str, Any]:
    return {"drains": list(step.drains), "actions": list(step.actions)}


def _finding(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.code,
        "severity": found.effective_severity.value,
        "waived": found.suppression is not None,
        "message": found.message,
        "address": str(found.address),
        "scope": found.scope or None,
        "file": found.at.file,
        "line": found.at.line or None,
    }

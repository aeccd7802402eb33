"""The result of a fit as a versioned JSON document; its schema is `apportion schema --for fit`."""

from __future__ import annotations

import json
from typing import Any

from apportion_review.diff_document import API_VERSION
from apportion_review.fit.records import Change, Decision, Ending, Fit, Outcome
from apportion_runtime.snapshots.quantities import time_text


def fit_json(fit: Fit) -> str:
    """Return the result as JSON."""
    return json.dumps(fit_document(fit), indent=2, ensure_ascii=False) + "\n"


def fit_document(fit: Fit) -> dict[str, Any]:
    """Return the result as a document of kind `FitReport`. GPUs are in thousandths; unknown values are null."""
    work = fit.workload
    return {
        "apiVersion": API_VERSION,
        "kind": "FitReport",
        "cluster": fit.cluster,
        "engine": fit.engine,
        "workload": {
            "kind": work.kind,
            "namespace": work.namespace,
            "name": work.name,
            "queue": work.queue,
            "queueAssigned": work.is_bound,
            "pods": work.n_pods,
            "milliGpus": work.gpus,
        },
        "snapshot": None
        if fit.taken is None
        else {
            "name": fit.snapshot,
            "time": _time(fit.taken),
            "running": fit.n_running,
            "waiting": fit.n_waiting,
        },
        "startsNow": fit.decision.outcome is Outcome.NOW,
        "decision": _decision(fit.decision),
        "largest": None
        if fit.size is None
        else {
            "field": fit.size.dimension,
            "asked": fit.size.asked,
            "value": fit.size.largest,
            "milliGpus": fit.size.gpus,
            "verifiedSmaller": fit.size.n_verified,
            "least": fit.size.least,
            "leastBecause": fit.size.because or None,
            "reason": fit.size.reason or None,
        },
        "free": list(fit.free),
        "start": None
        if fit.start is None
        else {"time": _time(fit.start.at), "after": [_ending(each) for each in fit.start.after]},
        "changes": [_change(each) for each in fit.changes],
        "notes": list(fit.notes),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "outcome": decision.outcome.value,
        "engineQueue": decision.queue or None,
        "pods": decision.n_pods,
        "placedPods": decision.n_placed,
        "placements": [
            {"pool": each.pool or None, "pods": each.n_pods, "nodes": list(each.nodes)} for each in decision.placements
        ],
        "flavors": list(decision.flavors),
        "victims": [
            {
                "kind": each.kind,
                "namespace": each.namespace,
                "name": each.name,
                "queue": each.queue,
                "milliGpus": each.gpus,
                "pods": each.n_pods,
                "rule": each.rule,
                "message": each.message,
            }
            for each in decision.victims
        ],
        "reason": decision.reason or None,
        "afterSeconds": decision.after_s,
    }


def _ending(ending: Ending) -> dict[str, Any]:
    return {
        "kind": ending.kind,
        "namespace": ending.namespace,
        "name": ending.name,
        "queue": ending.queue,
        "milliGpus": ending.gpus,
        "time": _time(ending.at),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind.value,
        "subject": change.subject,
        "field": change.field or None,
        "resource": change.resource or None,
        "before": change.before or None,
        "after": change.after,
        "at": change.at or None,
        "beside": list(change.beside),
        "evictedWorkloads": change.n_evicted,
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else time_text(float(int(seconds)))

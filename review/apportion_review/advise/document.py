"""Advice as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from apportion_review.advise.records import Advice


def advice_json(advice: Advice) -> str:
    """Return advice as a JSON document with every simulation."""
    document = {
        "apiVersion": "apportion.dev/v1",
        "kind": "Advice",
        "cluster": advice.cluster,
        "load": advice.load,
        "met": advice.is_met,
        "goals": [
            {
                "measure": result.goal.measure.value,
                "queue": result.goal.queue,
                "bound": result.goal.bound,
                "before": result.before,
                "after": result.after,
                "atBest": result.at_best,
                "cost": result.cost,
                "met": result.is_met,
            }
            for result in advice.goals
        ],
        "changes": [asdict(change) for change in advice.changes],
        "poolChanges": [asdict(change) for change in advice.pool_changes],
        "patch": advice.patch,
        "unpatched": [asdict(change) for change in advice.unpatched],
        "unpatchedPools": [asdict(change) for change in advice.unpatched_pools],
        "notes": list(advice.notes),
        "maxRuns": advice.max_runs,
        "quotas": list(advice.columns),
        "sample": advice.sample,
        "stopped": advice.stopped or None,
        "runs": [
            {
                "quotas": list(run.quotas),
                "sample": run.is_sample,
                "values": None if run.values is None else list(run.values),
            }
            for run in advice.runs
        ],
    }
    return json.dumps(document, indent=2) + "\n"

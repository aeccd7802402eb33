"""PodDisruptionBudgets in kube-scheduler's preemption."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.core.snapshot import Pod
from apportion_runtime.engines.kube_scheduler.disruption_budgets import KIND, disruption_budgets, violating
from apportion_runtime.engines.kube_scheduler.pods import pod_facts
from apportion_runtime.sim.engine import UnreadableError

Made = dict[str, Any]


def budget(allowed: Any, labels: Made | None, **status: Any) -> Made:
    selector = {} if labels is None else {"selector": {"matchLabels": labels}}
    metadata = {"name": "b", "namespace": "ns"}
    status = {"disruptionsAllowed": allowed, **status}
    return {"apiVersion": "policy/v1", "kind": KIND, "metadata": metadata, "spec": selector, "status": status}


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (budget(0, {"app": "a"}), {"a-0", "a-1"}),
        (budget(1, {"app": "a"}), {"a-1"}),
        (budget(2, {"app": "a"}), set()),
        (budget(0, {"app": "a"}, disruptedPods={"a-0": "2026-11-01T00:00:00Z"}), {"a-1"}),
        (budget(0, {}), set()),
        (budget(0, None), set()),
        ({**budget(0, {"app": "a"}), "metadata": {"name": "b", "namespace": "other"}}, set()),
    ],
)
def test_pods_exceeding_a_budget(made: Made, found: set[str]) -> None:
    pods = [
        pod_facts({"spec": {}}, Pod(name, name, "ns", None, labels={"app": name[0]}), priority=0, may_preempt=True)
        for name in ("a-0", "a-1", "b-0")
    ]
    assert violating(pods, disruption_budgets([made])) == found


def test_invalid_budget_is_named() -> None:
    with pytest.raises(UnreadableError, match="PodDisruptionBudget ns/b"):
        disruption_budgets([budget("many", {"app": "a"})])

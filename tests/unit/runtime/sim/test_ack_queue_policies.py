"""Job queues of each policy: the order of their jobs, and what a change of priority and released quota do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from apportion_runtime.kube_queue.job_queue import JobQueue, Policy, QueueSettings, Unit
from apportion_runtime.kube_queue.unsupported_settings import unsupported_settings

VIDEO = "root/video"


def never(refused_by: str, n_given: int) -> bool:
    return False


def unit(job: int, *, since: float = 0.0) -> Unit:
    return Unit(job, f"job-{job}", "video", VIDEO, {"cpu": 1000}, 0, True, since)


def queue(policy: Policy, *units: Unit) -> JobQueue:
    made = JobQueue(QueueSettings("q", VIDEO, policy))
    for each in units:
        made.put(each)
    return made


def jobs(units: Sequence[Unit]) -> list[int]:
    return [each.job for each in units]


@pytest.mark.parametrize(("policy", "since", "attempts", "until"), [("Round", 50.0, 0, 51.0), ("Block", 0.0, 3, 44.0)])
def test_changed_priority_queues_a_job_anew_in_a_round_queue(
    policy: str, since: float, attempts: int, until: float
) -> None:
    made = queue(Policy(policy), unit(0))
    for at in (37.0, 38.0, 40.0):
        made.refuse(0, at, VIDEO, 0)
    made.change_priority(0, 5, now=50.0)
    changed = made.units[0]
    assert (changed.priority, changed.since, changed.attempts, changed.silent_until) == (5, since, attempts, until)


@pytest.mark.parametrize(("policy", "order"), [("Round", [0, 1, 2]), ("Block", [1, 0, 2]), ("Priority", [1, 0, 2])])
def test_jobs_that_are_not_preemptible_come_first_except_in_a_round_queue(policy: str, order: list[int]) -> None:
    made = queue(Policy(policy), unit(0, since=1), replace(unit(1, since=2), preemptible=False), unit(2, since=3))
    assert jobs(made.active()) == order


def test_block_queue_continues_at_once_after_its_head() -> None:
    made = queue(Policy.BLOCK, unit(0), unit(1))
    for job in (0, 1):
        made.refuse(job, 0.0, VIDEO, 0)
    made.given_back(never)
    made.drop(0)
    following = made.next()
    assert following is not None
    assert following.job == 1


def quota_tree(**root: object) -> dict[str, object]:
    return {"metadata": {"name": "elasticquotatree"}, "spec": {"root": {"name": "root", **root}}}


def queue_object(policy: str = "Block", **annotations: str) -> dict[str, object]:
    notes = {key.replace("__", "/").replace("_", "-"): value for key, value in annotations.items()}
    metadata = {"name": "q", "namespace": "kube-queue", "annotations": notes}
    kind = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "Queue"}
    return {**kind, "metadata": metadata, "spec": {"queuePolicy": policy}}


def test_unsupported_settings_are_reported() -> None:
    lower = {"name": "a", "attributes": {"preempt-policy": "PreemptLowerPriority"}}
    made = quota_tree(children=[lower, {"name": "b", "attributes": {"preempt-policy": "Never"}}])
    labels = {"kube-queue/max-preempible-jobs": "3"}
    made["metadata"] = {"name": "elasticquotatree", "labels": labels}
    queues = [
        queue_object(),
        queue_object("Intelligent"),
        queue_object(kube_queue__wait_for_pods_running="true", koord_queue__max_depth="5"),
        queue_object(kube_queue__wait_for_pods_running="false"),
    ]
    lowers = "spec.root.children[0].attributes[preempt-policy] is `PreemptLowerPriority`"
    assert list(map(str, unsupported_settings(made, queues))) == [
        f"ElasticQuotaTree elasticquotatree: {lowers}, which is not supported",
        "ElasticQuotaTree elasticquotatree: the label kube-queue/max-preempible-jobs is `3`, which is not supported",
        "Queue q: spec.queuePolicy is `Intelligent`, which is not supported",
        "Queue q: the annotation kube-queue/wait-for-pods-running is `true`, which is not supported",
        "Queue q: the annotation koord-queue/max-depth is `5`, which is not supported",
    ]
    assert list(map(str, unsupported_settings(quota_tree(), [queue_object("Round")]))) == []

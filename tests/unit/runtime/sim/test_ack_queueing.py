"""`queueing` of a scenario: the public koord-queue and kube-queue where they differ from ACK."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.engines.ack.model import MODEL as ACK
from apportion_runtime.engines.kai.model import MODEL as KAI
from apportion_runtime.kube_queue.job_queue import JobQueue, Policy, QueueSettings, Unit
from apportion_runtime.kube_queue.queue_loop import SECOND, QueueLoop
from apportion_runtime.kube_queue.queueing import QueueRules, SumUpdate
from apportion_runtime.kube_queue.quota_accounts import QuotaAccounts
from apportion_runtime.kube_queue.tree import Tree, read_tree
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.engine import UnreadableError
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.reader import read_scenario

Node = dict[str, Any]
NODES = "nodes: [{pool: n, count: 4, cpu: 8, memory: 64Gi}]\n"
A, B = "root/a", "root/b"


def root(*children: Node, most: int = 8) -> Node:
    return {"name": "root", "min": {"cpu": most}, "max": {"cpu": most}, "children": list(children)}


def leaf(name: str, least: int, **attributes: str) -> Node:
    return {"name": name, "min": {"cpu": least}, "max": {"cpu": 8}, "namespaces": [name], "attributes": attributes}


def queue(name: str, policy: str) -> Node:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "Queue",
        "metadata": {
            "name": name,
            "namespace": "kube-queue",
            "annotations": {"kube-queue/quota-fullname": f"root/{name}"},
        },
        "spec": {"queuePolicy": policy},
    }


def job(name: str, namespace: str, cpu: int = 8, **more: Any) -> str:
    made = {"name": name, "kind": "Job", "namespace": namespace, "cpu": cpu, "memory": "1Gi", "duration": 95, **more}
    return f"  - {made}\n"


def run(queueing: str, workloads: str, *objects: Node) -> History:
    made = {
        "apiVersion": "scheduling.sigs.k8s.io/v1beta1",
        "kind": "ElasticQuotaTree",
        "metadata": {"name": "tree", "namespace": "kube-system"},
        "spec": {"root": root(leaf("a", 0), leaf("b", 8))},
    }
    text = f"queueing: {queueing}\nuntil: 10m\n{NODES}workloads:\n{workloads}"
    cluster = Cluster((made, *objects), read_scenario(text, lambda name: [], ACK.workload_labels), ACK)
    while cluster.step():
        pass
    return cluster.finish()


def dequeued(history: History) -> dict[str, float]:
    return {fact.workload: fact.at_s for fact in history.facts if fact.what == "dequeued"}


def tree(*children: Node, most: int = 8) -> Tree:
    return read_tree({"spec": {"root": root(*children, most=most)}})


def test_unknown_implementation_has_its_line() -> None:
    with pytest.raises(
        ScenarioError, match=r"^queueing: `kueue` is not one of ack, koord-queue, kube-queue"
    ) as refused:
        read_scenario("name: x\nqueueing: kueue\n", lambda name: [])
    assert refused.value.line == 2


def test_other_engines_refuse_an_implementation_of_ack() -> None:
    scenario = read_scenario("queueing: koord-queue", lambda name: [])
    with pytest.raises(ScenarioError, match=r"^queueing: koord-queue requires an ElasticQuotaTree"):
        Cluster((), scenario, KAI)


@pytest.mark.parametrize(
    ("queueing", "policy", "why"),
    [
        ("koord-queue", "Round", "koord-queue has no spec.queuePolicy `Round`; use Priority or Block"),
        ("kube-queue", "Block", "kube-queue has no spec.queuePolicy `Block`; use Round or Priority"),
    ],
)
def test_policy_of_another_implementation_is_refused(queueing: str, policy: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=f"^Queue a: {why}"):
        run(queueing, job("one", "a"), queue("a", policy))


AFTERWARDS = job("one", "a") + job("two", "b", cpu=7, at=1) + job("three", "a", cpu=1, at=300)
"""The second job waits for the end of the first, and, as long as the sum counts it, for the third."""


@pytest.mark.parametrize(("queueing", "first", "last"), [("ack", 1.0, 2.0), ("koord-queue", 300.0, 362.0)])
def test_job_within_min_waits_for_full_ancestors_except_under_ack(queueing: str, first: float, last: float) -> None:
    made = dequeued(run(queueing, AFTERWARDS))
    assert made["one"] == 0.0
    assert first <= made["two"] <= last


def test_kube_queue_counts_a_dequeued_job_late() -> None:
    made = dequeued(run("kube-queue", job("one", "b") + job("two", "a", at=1)))
    assert made["two"] == 1.0, "the usage of root/b is still 0 in the sum, so the max of the root is exceeded"


@pytest.mark.parametrize(("policy", "earliest", "latest"), [("Priority", 1.0, 62.0), ("Block", 31.0, 212.0)])
def test_other_queue_notices_released_quota_when_its_timer_ends(policy: str, earliest: float, latest: float) -> None:
    made = dequeued(run("koord-queue", AFTERWARDS, queue("b", policy)))
    assert made["three"] == 300.0
    assert earliest <= made["two"] - made["three"] <= latest


def test_sum_lags_behind_the_usage_by_one_change() -> None:
    rules = QueueRules(reclaims=False, sum_update=SumUpdate.AT_NEXT_CHANGE)
    late, now = QuotaAccounts(tree(leaf("a", 0), leaf("b", 0)), rules), QuotaAccounts(tree(leaf("a", 0), leaf("b", 0)))
    for book in (late, now):
        book.reserve(A, {"cpu": 6000}, preemptible=True)
    assert now.refusal(B, {"cpu": 3000}, preemptible=True) is not None
    assert late.refusal(B, {"cpu": 3000}, preemptible=True) is None, "the max of the root is exceeded"
    late.reserve(A, {"cpu": 1000}, preemptible=True)
    assert late.refusal(B, {"cpu": 3000}, preemptible=True) is not None


def test_released_quota_counts_until_its_next_change() -> None:
    rules = QueueRules(reclaims=False, sum_update=SumUpdate.AFTER_DEQUEUE)
    book = QuotaAccounts(tree(leaf("a", 0), leaf("b", 0)), rules)
    book.reserve(A, {"cpu": 6000}, preemptible=True)
    assert book.refusal(B, {"cpu": 3000}, preemptible=True) is not None
    book.unreserve(A, {"cpu": 6000}, preemptible=True)
    assert book.refusal(B, {"cpu": 3000}, preemptible=True) is not None
    assert book.refusal(A, {"cpu": 8000}, preemptible=True) is None


def test_excess_of_a_lend_limit_lowers_the_usage_until_the_quota_is_used() -> None:
    overlent = leaf("a", 2, **{"alibabacloud.com/lendlimit": '{"cpu": 5}'})
    made = tree(overlent, leaf("b", 0), most=4)
    assert QuotaAccounts(made).refusal(B, {"cpu": 7000}, preemptible=True) is not None
    book = QuotaAccounts(made, QueueRules(reclaims=False, lends_min_at_most=False))
    assert book.refusal(B, {"cpu": 7000}, preemptible=True) is None
    book.reserve(A, {"cpu": 1000}, preemptible=True)
    assert book.refusal(B, {"cpu": 4000}, preemptible=True) is not None


def test_end_of_a_job_without_requests_lowers_the_number_of_jobs() -> None:
    book = QuotaAccounts(tree(leaf("a", 0)), QueueRules(counts_empty_jobs=False))
    book.reserve(A, {}, preemptible=True)
    assert book.n_jobs[A] == 0
    book.unreserve(A, {}, preemptible=True)
    assert book.n_jobs[A] == -1


def loop(policy: Policy, *jobs: int) -> QueueLoop:
    made = JobQueue(QueueSettings("a", A, policy), by_creation=True)
    for number in jobs:
        made.put(Unit(number, f"job-{number}", "a", A, {"cpu": 1000}, 0, True, 0.0))
    return QueueLoop(made, 0, 0)


def attempts(made: QueueLoop, until_s: int, *, refused: bool = True) -> list[tuple[float, int]]:
    found = []
    while made.due <= until_s * SECOND:
        at, unit = made.due, made.next(0)
        if unit is not None:
            found.append((at / SECOND, unit.job))
            made.refused(unit, 0)
    return found


def test_priority_queue_tries_all_jobs_every_minute() -> None:
    assert attempts(loop(Policy.PRIORITY, 0, 1), 61) == [(0.0, 0), (0.01, 1), (60.02, 0), (60.03, 1)]


def test_block_queue_tries_its_head_every_three_minutes() -> None:
    assert attempts(loop(Policy.BLOCK, 0, 1), 400) == [(0.0, 0), (180.01, 0), (360.02, 0)]


def test_block_queue_does_not_try_a_job_twice_within_five_seconds() -> None:
    made = loop(Policy.BLOCK, 0)
    attempts(made, 0)
    attempts(made, 1)
    made.wake(2 * SECOND, A, is_new=False)
    assert attempts(made, 100) == [(7.0, 0)]


def test_refusal_does_not_count_if_a_job_ended_meanwhile() -> None:
    made = loop(Policy.BLOCK, 0)
    unit = made.next(0)
    assert unit is not None
    made.refused(unit, n_ended=1)
    assert attempts(made, 100) == [(5.01, 0)]


def test_skipped_passes_end_as_if_they_had_run() -> None:
    ran, skipped = loop(Policy.PRIORITY, 0, 1), loop(Policy.PRIORITY, 0, 1)
    for each in (ran, skipped):
        attempts(each, 1)
    attempts(ran, 10_000)
    skipped.skip(10_000 * SECOND, 0)
    attempts(skipped, 10_000)
    assert (skipped.due, skipped.waits) == (ran.due, ran.waits)


def test_jobs_of_the_same_second_are_sorted_by_name() -> None:
    made = loop(Policy.PRIORITY, 2, 10)
    assert [job for _, job in attempts(made, 1)] == [10, 2]

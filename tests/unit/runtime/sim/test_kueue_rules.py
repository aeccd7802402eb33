"""Kueue's rules as pure functions: queue order, flavors, and what one cycle decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from apportion_api.kueue.names import ANY, BEST_EFFORT, LOWER_PRIORITY, STRICT
from apportion_api.kueue.objects import FlavorQuotas, Fungibility, Preemption, ResourceFlavor, ResourceGroup
from apportion_runtime.engines.kueue.flavor_assigner import amount_text, mismatch
from apportion_runtime.engines.kueue.pending_queue import PendingQueue, RequeueReason
from apportion_runtime.engines.kueue.pending_queues import PendingQueues
from apportion_runtime.engines.kueue.quota_holders import QuotaHolders
from apportion_runtime.engines.kueue.quota_tree import Node, Quota
from apportion_runtime.engines.kueue.records import STRATEGIES, Holder, Pending, PodSet, Queue
from apportion_runtime.engines.kueue.scheduling_cycle import Entry, Outcome, Rules, run_cycle
from apportion_runtime.engines.kueue.usage_tree import cohort_name
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import Scenario

_GPU = "nvidia.com/gpu"


def _pending(key: str, queue: str = "q", gpus: int = 1, **more: Any) -> Pending:
    pods = (PodSet("main", 1, {"spec": more.pop("spec", {})}, {_GPU: gpus}),)
    return Pending(key, queue, "ns", pods, uid=key, **more)


def _holder(key: str, queue: str = "q", gpus: int = 1, flavor: str = "a", **more: Any) -> Holder:
    return Holder(key, queue, {(flavor, _GPU): gpus}, uid=key, **{"reserved_at": 0.0, **more})


def _queue(name: str = "q", quotas: Mapping[str, Quota] | None = None, **more: Any) -> Queue:
    quotas = {"a": Quota(4)} if quotas is None else quotas
    return Queue(
        name,
        groups=(ResourceGroup((_GPU,), tuple(map(FlavorQuotas, quotas))),),
        quotas={(f, _GPU): q for f, q in quotas.items()},
        **more,
    )


def _rules(
    *queues: Queue, cohorts: Sequence[Node] = (), strategies: Sequence[str] | None = None, **flavors: ResourceFlavor
) -> Rules:
    known = {
        each.flavor: ResourceFlavor(name=each.flavor)
        for queue in queues
        for group in queue.groups
        for each in group.flavors
    }
    return Rules({queue.name: queue for queue in queues}, cohorts, {**known, **flavors}, strategies)


def _decide(rules: Rules, heads: Sequence[Pending], holders: Sequence[Holder] = ()) -> list[Entry]:
    book = QuotaHolders(rules.queues.values(), rules.cohorts, holders)
    before = {name: dict(usage) for name, usage in book.ledger.usage.items()}
    entries = run_cycle(rules, heads, book.situation(100.0), refuses=lambda workload, queue: "")
    after = {name: {fr: v for fr, v in usage.items() if v} for name, usage in book.ledger.usage.items()}
    assert after == {name: {fr: v for fr, v in usage.items() if v} for name, usage in before.items()}
    return entries


def test_queue_order_is_priority_then_age() -> None:
    waiting = PendingQueue()
    for key, priority, ordered_at in (("late", 0, 2.0), ("early", 0, 1.0), ("important", 5, 3.0)):
        waiting.push(_pending(key, priority=priority, ordered_at=ordered_at), now=3.0)
    assert [each.key for each in (waiting.pop(), waiting.pop(), waiting.pop()) if each] == [
        "important",
        "early",
        "late",
    ]
    assert waiting.pop() is None


def test_inadmissible_workloads_wait_for_a_change() -> None:
    waiting = PendingQueue()
    for key in ("one", "two"):
        waiting.push(_pending(key, ordered_at=0.0, shape="large"), now=0.0)
    waiting.push(_pending("small", ordered_at=1.0, shape="small"), now=1.0)
    head = waiting.pop()
    assert head is not None
    waiting.requeue(head, RequeueReason.NO_FIT)
    following = waiting.pop()
    assert following is not None
    assert following.key == "small"
    waiting.push(_pending("three", shape="large"), now=2.0)
    assert not waiting.is_active
    assert waiting.queue_inadmissible(3.0)
    assert {head.key for head in iter(waiting.pop, None)} == {"one", "two", "three"}


def test_strict_fifo_waits_for_its_head() -> None:
    waiting = PendingQueue(STRICT)
    waiting.push(_pending("head", ordered_at=0.0, shape="s"), now=0.0)
    waiting.push(_pending("next", ordered_at=1.0, shape="s"), now=1.0)
    head = waiting.pop()
    assert head is not None
    waiting.requeue(head, RequeueReason.NO_FIT)
    again = waiting.pop()
    assert again is not None
    assert again.key == "head"


@pytest.mark.parametrize("strategy", [BEST_EFFORT, STRICT])
def test_workloads_of_other_namespaces_do_not_block_a_queue(strategy: str) -> None:
    waiting = PendingQueue(strategy, lambda workload: workload.key != "foreign")
    waiting.push(_pending("foreign", ordered_at=0.0, shape="s"), now=0.0)
    waiting.push(_pending("next", ordered_at=1.0, shape="s"), now=1.0)
    head = waiting.pop()
    assert head is not None
    waiting.requeue(head, RequeueReason.NAMESPACE)
    assert not waiting.queue_inadmissible(2.0)
    following = waiting.pop()
    assert following is not None
    assert following.key == "next"


def test_refused_head_leaves_the_queue() -> None:
    rules = _rules(_queue())
    situation = QuotaHolders(rules.queues.values(), rules.cohorts, ()).situation(0.0)
    (entry,) = run_cycle(rules, [_pending("w")], situation, refuses=lambda workload, queue: "not selected")
    assert (entry.outcome, entry.why) == (Outcome.REFUSED, RequeueReason.NAMESPACE)


def test_backoff_is_not_interrupted() -> None:
    waiting = PendingQueue()
    waiting.push(_pending("w"), now=0.0, not_before=60.0)
    assert not waiting.queue_inadmissible(59.0)
    assert waiting.queue_inadmissible(60.0)


def test_freed_quota_requeues_the_cohort_as_it_is_configured() -> None:
    parents: dict[str, str | None] = {"a": "org", "b": "org", "c": "other", "org": None, "other": None}
    state = Cluster((), Scenario(())).cluster_state
    queues = [_queue(name) for name in "abc"]
    waiting = PendingQueues(state, queues, lambda: parents, lambda queue, workload: True)

    def requeued_by(queue: str) -> list[str]:
        for name in "abc":
            waiting[name].requeue(_pending(name, name), RequeueReason.NO_FIT)
        waiting.queue_inadmissible(queue)
        heads = [head.key for head in waiting.heads()[0]]
        for name in "abc":
            waiting.remove(name, name)
        return heads

    assert requeued_by("a") == ["a", "b"]
    assert requeued_by("c") == ["c"]
    parents = {**parents, "b": "other"}
    assert requeued_by("a") == ["a"]
    assert requeued_by("c") == ["b", "c"]


def test_preemptor_keeps_the_head_of_its_queue() -> None:
    waiting = PendingQueue()
    waiting.push(_pending("preemptor"), now=0.0)
    head = waiting.pop()
    assert head is not None
    waiting.requeue(head, RequeueReason.PENDING_PREEMPTION)
    waiting.push(_pending("important", priority=9), now=1.0)
    following = waiting.pop()
    assert following is not None
    assert following.key == "preemptor"
    waiting.remove("preemptor")
    waiting.push(head, now=2.0)
    following = waiting.pop()
    assert following is not None
    assert following.key == "important", "once it has its quota, it is like any other"


@pytest.mark.parametrize(
    ("fungibility", "flavor"),
    [(Fungibility(), "a"), (Fungibility(when_can_borrow="TryNextFlavor"), "b")],
)
def test_flavor_fungibility(fungibility: Fungibility, flavor: str) -> None:
    queue = _queue(quotas={"a": Quota(0), "b": Quota(1)}, cohort="c", fungibility=fungibility)
    lender = _queue("lender", {"a": Quota(4), "b": Quota(0)}, cohort="c")
    (entry,) = _decide(_rules(queue, lender), [_pending("w")])
    assert entry.outcome is Outcome.RESERVED
    assert entry.assignment.flavors == {"main": {_GPU: flavor}}


def test_flavors_match_labels_and_taints() -> None:
    flavor = ResourceFlavor({"model": "h100"}, ({"key": "gpu", "effect": "NoSchedule"},), name="h100")
    template: dict[str, Any] = {"spec": {"nodeSelector": {"model": "a100", "zone": "x"}}}
    assert mismatch(template, "h100", flavor) == "untolerated taint {gpu NoSchedule} in flavor h100"
    template["spec"]["tolerations"] = [{"operator": "Exists"}]
    assert mismatch(template, "h100", flavor) == "flavor h100 doesn't match node affinity"
    template["spec"]["nodeSelector"]["model"] = "h100"
    assert mismatch(template, "h100", flavor) == ""
    term = {"matchExpressions": [{"key": "model", "operator": "NotIn", "values": ["h100"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    template["spec"]["affinity"] = {"nodeAffinity": required}
    assert mismatch(template, "h100", flavor) == "flavor h100 doesn't match node affinity"
    required["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].append(
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["x"]}]}
    )
    assert mismatch(template, "h100", flavor) == ""


def test_message_names_the_missing_quota() -> None:
    (entry,) = _decide(_rules(_queue()), [_pending("w", gpus=3)], [_holder("h", gpus=2)])
    assert entry.why is RequeueReason.NO_CANDIDATES
    assert entry.message == (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor a, 1 more needed"
    )
    (entry,) = _decide(_rules(_queue()), [_pending("w", gpus=5)])
    assert entry.why is RequeueReason.NO_FIT
    assert "current podset request (5) > maximum capacity (4)" in entry.message


def test_heads_of_two_queues_do_not_share_quota() -> None:
    queues = [_queue(name, {"a": Quota(0)}, cohort="c") for name in ("x", "y")]
    lender = Node(cohort_name("c"), quotas={("a", _GPU): Quota(4)}, is_cohort=True)
    heads = [_pending("first", "x", 3, ordered_at=1.0), _pending("second", "y", 3, ordered_at=2.0)]
    first, second = _decide(_rules(*queues, cohorts=[lender]), heads)
    assert (first.workload.key, first.outcome) == ("first", Outcome.RESERVED)
    assert (second.outcome, second.why) == (Outcome.SKIPPED, RequeueReason.AFTER_NOMINATION)


def test_fair_sharing_orders_by_weighted_share() -> None:
    heavy, light = (
        _queue(name, {"a": Quota(1)}, cohort="c", weight=weight) for name, weight in (("heavy", 3.0), ("light", 1.0))
    )
    lender = Node(cohort_name("c"), quotas={("a", _GPU): Quota(6)}, is_cohort=True)
    rules = _rules(heavy, light, cohorts=[lender], strategies=STRATEGIES)
    heads = [_pending("l", "light", 2, ordered_at=1.0), _pending("h", "heavy", 3, ordered_at=2.0)]
    order = [entry.workload.key for entry in _decide(rules, heads, [_holder("x", "light"), _holder("y", "heavy")])]
    assert order == ["h", "l"]


def test_reclaim_ignores_priority() -> None:
    own = _queue("own", cohort="c", preemption=Preemption(LOWER_PRIORITY, ANY))
    other = _queue("other", {"a": Quota(0)}, cohort="c")
    borrowed = [_holder("important", "other", 4, priority=100)]
    for strategies in (None, STRATEGIES):
        (entry,) = _decide(_rules(own, other, strategies=strategies), [_pending("w", "own", 2)], borrowed)
        assert entry.outcome is Outcome.PREEMPTING
        assert [(target.holder.key, target.reason) for target in entry.targets] == [
            ("important", "InCohortReclamation")
        ]
        assert entry.message.endswith("Pending the preemption of 1 workload(s)")


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 3 << 30, "3Gi"),
        (_GPU, 8, "8"),
        (_GPU, 2000, "2k"),
        ("cpu", 12_000_000, "12k"),
    ],
)
def test_quantities_match_kubernetes(resource: str, amount: int, text: str) -> None:
    assert amount_text(resource, amount) == text


def test_preemption_makes_no_room_for_the_number_of_pods() -> None:
    """Kueue nominates targets without the `pods` of the workload (Assignment.TotalRequestsFor)."""
    quotas = {("a", _GPU): Quota(4), ("a", "pods"): Quota(1)}
    groups = (ResourceGroup((_GPU, "pods"), (FlavorQuotas("a"),)),)
    queue = Queue("q", groups=groups, quotas=quotas, preemption=Preemption(within_queue=LOWER_PRIORITY))
    held = [
        Holder(key, "q", {("a", _GPU): gpus, ("a", "pods"): pods}, uid=key, reserved_at=at)
        for key, gpus, pods, at in (("many", 1, 1, 0.0), ("large", 2, 0, 1.0))
    ]
    (entry,) = _decide(_rules(queue), [_pending("w", gpus=2, priority=1)], held)
    assert [target.holder.key for target in entry.targets] == ["large"]
    assert entry.outcome is Outcome.SKIPPED


def test_equal_workloads_of_a_child_cohort_come_first() -> None:
    above, below = cohort_name("c"), cohort_name("d")
    cohorts = [Node(above, None, {("a", _GPU): Quota(1)}, is_cohort=True), Node(below, above, {}, is_cohort=True)]
    queues = [_queue(name, {"a": Quota(0)}, cohort=cohort) for name, cohort in (("p", "c"), ("q", "d"))]
    heads = [_pending("of-cohort", "p", ordered_at=0.0), _pending("of-child", "q", ordered_at=0.0)]
    entries = _decide(_rules(*queues, cohorts=cohorts, strategies=STRATEGIES), heads)
    assert [entry.workload.key for entry in entries] == ["of-child", "of-cohort"]

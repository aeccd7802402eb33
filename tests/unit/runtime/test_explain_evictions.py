"""Reasons of evictions: the preemptor, the rule, and the queues' usage before and after."""

from __future__ import annotations

import pytest

from apportion_runtime.core.explain.evictions import evictions
from apportion_runtime.core.session import Session
from apportion_runtime.core.snapshot import Settings

from .clusters import NOW, Made, job, node, queue, run


def told(session: Session) -> list[tuple[str, ...]]:
    return [eviction.lines for eviction in evictions(session)]


def test_reclaim_explains_the_remaining_share() -> None:
    session = run(
        [node("n", 4)],
        [queue("a", quota=2), queue("b", quota=2)],
        [job("old", "b", on="n", gpus=2, created=NOW - 900), job("r", "b", on="n", gpus=2), job("j", "a", gpus=2)],
    )
    assert told(session) == [
        (
            "pod team/r-0 (job r, queue b) on n: reclaim for job team/j in queue a",
            "  queue b uses 4 GPUs, more than its quota of 2 GPUs",
            "  queue b: 4 GPUs before, 2 GPUs after (quota 2 GPUs, fair share 2 GPUs)",
            "  queue b: 2 cores before, 1 core after (quota unlimited, fair share 2 cores)",
            "  queue b: 2 GB before, 1 GB after (quota unlimited, fair share 2 GB)",
            "  queue a: 0 GPUs before, 2 GPUs after (quota 2 GPUs, fair share 2 GPUs)",
            "  queue a: 0 cores before, 1 core after (quota unlimited, fair share 1 core)",
            "  queue a: 0 GB before, 1 GB after (quota unlimited, fair share 1 GB)",
        )
    ]


def test_reclaim_compares_ancestors_at_the_first_common_level() -> None:
    session = run(
        [node("n", 2)],
        [
            queue("left", quota=1), queue("a", "left", quota=1),
            queue("right", quota=1), queue("b", "right", quota=0), queue("c", "right", quota=1),
        ],
        [job("r", "b", on="n"), job("s", "c", on="n", created=NOW - 900), job("j", "a")],
    )  # fmt: skip
    (eviction,) = evictions(session)
    assert eviction.victim is not None
    assert eviction.beneficiary is not None
    assert (eviction.queue, eviction.victim.queue, eviction.beneficiary.queue) == ("b", "right", "left")
    assert eviction.because == "queue right uses 2 GPUs, more than its quota of 1 GPU"
    assert [eviction.victim.before[2], eviction.victim.after[2]] == [2, 1]


def test_reclaim_above_quota_within_fair_share() -> None:
    session = run(
        [node("n0", 2), node("n1", 2)],
        [queue("a", quota=2), queue("b", quota=1)],
        [job("r", "b", on="n0"), job("s", "b", on="n1"), job("j", "a", gpus=2)],
        actions=("reclaim",),
    )
    (eviction,) = evictions(session)
    assert (eviction.rule, eviction.moved_to is not None) == ("over-quota", True)
    assert eviction.because == "queue b uses 2 GPUs, more than its quota of 1 GPU, and queue a is within its quota"


def test_preemption_names_the_priorities() -> None:
    session = run([node("n", 1)], [queue("q")], [job("r", "q", on="n", priority=50), job("j", "q", priority=75)])
    assert told(session) == [
        (
            "pod team/r-0 (job r, queue q) on n: preempt for job team/j in queue q",
            "  lower priority in the same queue (50 < 75)",
        )
    ]


def test_consolidation_names_the_target_node() -> None:
    session = run(
        [node("n0", 2), node("n1", 2)],
        [queue("q")],
        [job("r0", "q", on="n0"), job("r1", "q", on="n1"), job("j", "q", gpus=2)],
    )
    ((head, because, moved),) = told(session)
    assert head.endswith("consolidation for job team/j in queue q")
    assert because == "  moved to make room on its node; its queue loses no resources"
    assert moved in ("  will be rescheduled on n0", "  will be rescheduled on n1")


def test_stale_gang_eviction_names_the_missing_pods() -> None:
    session = run([node("n", 4)], [queue("q")], [job("r", "q", needs=2, on="n", stale_since=NOW - 120)])
    assert told(session) == [
        (
            "pod team/r-0 (job r, queue q) on n: stalegangeviction",
            "  its gang has had fewer than the required 2 pods for more than 60 s",
        )
    ]
    assert Settings().staleness_grace == 60


def test_simulated_evictions_are_not_reported() -> None:
    session = run([node("n", 1)], [queue("a", quota=1), queue("b", quota=1)], [job("r", "b", on="n"), job("j", "a")])
    assert told(session) == []


def test_event_message_lists_allocations_of_both_queues() -> None:
    session = run(
        [node("n", 4)],
        [queue("a", quota=2), queue("b", quota=2)],
        [job("r", "b", on="n", gpus=4), job("j", "a", gpus=2)],
    )
    (eviction,) = evictions(session)
    assert eviction.message.split("\n") == [
        "Pod team/r-0 was preempted by workload team/j.",
        (
            "b uses <GPU: 4, CPU: 1 (cores), memory: 1 (GB)> with a quota of <GPU: 2, CPU: Unlimited (cores), memory: "
            "Unlimited (GB)>, fair-share of <GPU: 2, CPU: 1 (cores), memory: 1 (GB)> and queue priority of <100>."
        ),
        (
            "a uses <GPU: 0, CPU: 0 (cores), memory: 0 (GB)> with a quota of <GPU: 2, CPU: Unlimited (cores), memory: "
            "Unlimited (GB)>, fair-share of <GPU: 2, CPU: 1 (cores), memory: 1 (GB)> and queue priority of <100>."
        ),
    ]


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        (
            [job("r", "q", on="n", gpus=4), job("j", "q", priority=75)],
            "Pod team/r-0 was preempted by higher priority workload team/j",
        ),
        (
            [job("r", "q", needs=2, on="n", stale_since=NOW - 120)],
            "Workload doesn't meet the minimum required number of pods (2), evicting remaining pod: team/r-0",
        ),
    ],
)
def test_event_message_states_the_reason(jobs: list[Made], message: str) -> None:
    (eviction,) = evictions(run([node("n", 4)], [queue("q")], jobs))
    assert eviction.message == message

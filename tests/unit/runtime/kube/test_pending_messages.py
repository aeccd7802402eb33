"""The messages of pending pods are sentences: one full stop each, no headings, no duplicates, for every kind of reason."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from tests.unit.runtime.test_explain_pending import CASES

from apportion_runtime.core.capacity import OVER_LIMIT
from apportion_runtime.core.explain.histogram import NodeHistogram
from apportion_runtime.core.explain.pending import PendingJob, pending_jobs
from apportion_runtime.core.explain.pending_reasons import (
    Delayed,
    FitsNow,
    Fragmented,
    IncompleteGang,
    NoDomain,
    NoNode,
    NoVictims,
    OverFairShare,
    OverLimit,
    PendingReason,
    UndefinedSubGroup,
    Unschedulable,
    UnusableQueue,
    WaitsForRelease,
)
from apportion_runtime.kube.pending_messages import pending_message, sentence

_NODES = NodeHistogram(0, ())
OF_REASONS: dict[str, tuple[tuple[PendingReason, ...], str]] = {
    "UnusableQueue": (
        (UnusableQueue("q", "q"),),
        "Queue q does not exist. Create it, or use an existing queue.",
    ),
    "IncompleteGang": (
        (IncompleteGang("w", 1, 1, 2), IncompleteGang("default", 0, 0, 1)),
        "Sub-group w requires 2 pods to start but has 1 (1 gated). The job requires 1 pod to start but has 0.",
    ),
    "UndefinedSubGroup": (
        (UndefinedSubGroup("w", 2),),
        "2 pods belong to sub-group w, which the pod group does not define.",
    ),
    "OverLimit": (
        (OverLimit(OVER_LIMIT, "q", "gpu", 2, 2, 1),),
        "Queue q would exceed its limit of 2 GPUs: 2 GPUs in use, 1 GPU requested.",
    ),
    "NoNode": ((NoNode("p", "default", 0, 1, _NODES),), "Pod p does not fit on any node: the cluster has no nodes."),
    "NoDomain": (
        (NoDomain(("topology net couldn't be satisfied", "<r0>: node-group r0 has 2 of 3 pods", "<r1>: no room")),),
        "Topology net couldn't be satisfied. Node-group r0 has 2 of 3 pods. <r1>: no room.",
    ),
    "Unschedulable": ((Unschedulable("The pod requires\nGPU: 4. Most is 1."),), "The pod requires GPU: 4. Most is 1."),
    "OverFairShare": (
        (OverFairShare("q", "gpu", 1, 1, 1, is_quota=False),),
        "Cannot reclaim from other queues: q uses 1 GPU and requests 1 more GPU; its fair share is 1 GPU.",
    ),
    "NoVictims": (
        (NoVictims("reclaim", "q", ("b",), 0, 0, 0), NoVictims("preempt", "q", (), 0, 0, 0)),
        ("Nothing to reclaim from other queues: b within its fair share. "
        "Nothing to preempt in queue q: no lower-priority preemptible job is running."),
    ),
    "Delayed": (
        (Delayed(60, 30),),
        "Its preemption delay of 1m0s ends in 30s; until then, it cannot evict other jobs.",
    ),
    "Fragmented": (
        (Fragmented(2, 2),),
        "Consolidation found no solution: 2 GPUs requested, 2 GPUs free in total but fragmented across nodes.",
    ),
    "WaitsForRelease": (
        (WaitsForRelease(("n0",), 1),),
        "1 pod waits for resources that are being released on n0.",
    ),
    "FitsNow": ((FitsNow(""),), "The job fits now and is retried in the next cycle."),
}  # fmt: skip


def test_every_kind_of_reason_has_a_message() -> None:
    assert {kind.__name__ for kind in get_args(PendingReason)} == set(OF_REASONS)


@pytest.mark.parametrize("kind", OF_REASONS)
def test_message_of_a_reason(kind: str) -> None:
    reasons, expected = OF_REASONS[kind]
    pending = PendingJob("j", "j", "team", "q", 1, 0, reasons, "")
    assert pending_message(pending, {}) == expected


NO_GPUS = "no nodes with enough resources were found: 1 node(s) didn't have enough resources: GPUs."
MESSAGES = {
    "limit above": (
        "Queue org has reached the allowable limit of GPUs. Limit is 2 GPUs, currently 2 GPUs allocated and workload "
        "requested 1 GPUs."
    ),
    "guarantee": (
        "Non-preemptible workload is over quota. Workload requested 2 GPUs, but q quota is 1 GPUs, while 0 GPUs are "
        "already allocated for non-preemptible pods. Use a preemptible workload to go over quota."
    ),
    "minimum runtime": f"Resources were not found for pod team/j-0 due to: {NO_GPUS}",
    "preemption delay": (
        f"Resources were not found for pod team/j-0 due to: {NO_GPUS} Workload is within its preemption delay window "
        "(1h0m0s) and may not trigger evictions before 1970-01-12T14:36:40Z."
    ),
    "more than any node has": (
        "Resources were not found for pod team/j-0 due to: The pod team/j-0 requires GPU: 4, CPU: 1 (cores), memory: 1 "
        "(GB), pods: 1. Max GPU resources available in a single node in the default node-pool is topped at 1."
    ),
    "other resources": (
        "Resources were not found for pod team/j-0 due to: no nodes with enough resources were found: 1 node(s) didn't "
        "have enough resources: CPU cores. 1 node(s) didn't have enough resources: memory. 1 node(s) didn't have "
        "enough resources: pods."
    ),
    "gang": (
        "Resources were found for 3 pods while 4 are required for gang scheduling. Additional pods cannot be scheduled "
        "due to: no nodes with enough resources were found: 3 node(s) didn't have enough resources: GPUs."
    ),
    "topology": (
        "Node-group r0 can allocate only 2 of 3 required pods. Node-group r1 can allocate only 2 of 3 required pods. "
        "Topology net, requirement rack couldn't be satisfied for job <team/j>."
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message_of_the_engines_fit_errors(name: str) -> None:
    session = CASES[name][0]()
    (pending,) = (one for one in pending_jobs(session) if one.name == "j")
    assert pending.noted
    assert pending_message(pending, {}) == MESSAGES[name]


@pytest.mark.parametrize("name", CASES)
def test_messages_consist_of_sentences(name: str) -> None:
    refusal = "the pods of job team/r are not evicted: a budget forbids it; they are tried again"
    for pending in pending_jobs(CASES[name][0]()):
        message = pending_message(pending, {}, refusal)
        assert message.endswith(f". {sentence(refusal)}")
        assert "\n" not in message
        assert not re.search(r"\.\s*\.|  |[;:]\.|PodSchedulingErrors|OverLimit\.|Unable to schedule", message)
        parts = message.split(". ")
        assert len(parts) == len(set(parts))

"""The search for preemption targets against one that lists and sorts all candidates and makes every attempt."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from apportion_api.kueue.names import ANY, LOWER_OR_NEWER, LOWER_PRIORITY, NEVER
from apportion_api.kueue.objects import Preemption
from apportion_runtime.engines.kueue.preemption import PreemptionRequest, classical_targets
from apportion_runtime.engines.kueue.quota_holders import QuotaHolders
from apportion_runtime.engines.kueue.quota_tree import Node, Quota
from apportion_runtime.engines.kueue.records import Holder, Queue
from apportion_runtime.engines.kueue.usage_tree import cohort_name

from .plain_preemption import plain_targets

pytestmark = pytest.mark.property
GPU, CPU = ("flavor", "nvidia.com/gpu"), ("flavor", "cpu")
COHORTS = {"root": None, "left": "root", "right": "root", "inner": "left"}
QUEUES = tuple("abcdefg")

_limits = st.none() | st.integers(0, 4)
_quotas = st.fixed_dictionaries(
    {GPU: st.builds(Quota, st.integers(0, 6), _limits, _limits), CPU: st.builds(Quota, st.integers(0, 12))}
)
_policies = st.sampled_from((NEVER, ANY, LOWER_PRIORITY, LOWER_OR_NEWER))
_preemption = st.builds(
    Preemption, _policies, _policies, st.sampled_from((NEVER, LOWER_PRIORITY)), st.none() | st.integers(0, 2)
)


@st.composite
def _situations(draw: st.DrawFn) -> tuple[QuotaHolders, list[Holder]]:
    cohorts = [
        Node(cohort_name(name), above and cohort_name(above), draw(_quotas | st.just({})), is_cohort=True)
        for name, above in COHORTS.items()
    ]
    of = st.sampled_from((None, *COHORTS))
    queues = [Queue(name, draw(of), (), draw(_quotas), preemption=draw(_preemption)) for name in QUEUES]
    holders = [
        Holder(
            str(number),
            draw(st.sampled_from(QUEUES)),
            draw(st.fixed_dictionaries({GPU: st.integers(1, 3)}, optional={CPU: st.integers(0, 4)})),
            # Equal uids make the order depend on the order in which queues are visited.
            draw(st.sampled_from((str(number), ""))),
            draw(st.integers(0, 2)),
            float(draw(st.integers(0, 3))),
            draw(st.none() | st.integers(0, 3).map(float)),
            draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, 14)))
    ]
    return QuotaHolders(queues, cohorts, holders), holders


@settings(max_examples=150, deadline=None)
@given(_situations(), st.data())
def test_targets_are_those_of_the_plain_search(made: tuple[QuotaHolders, list[Holder]], data: st.DataObject) -> None:
    book, holders = made
    for _ in range(4):
        situation = book.situation(5.0)
        queue = situation.queues[data.draw(st.sampled_from(QUEUES))]
        usage = {GPU: data.draw(st.integers(1, 6)), CPU: data.draw(st.integers(0, 12))}
        contested = data.draw(st.sampled_from((frozenset((GPU,)), frozenset((GPU, CPU)))))
        asking = PreemptionRequest(queue, usage, contested, data.draw(st.integers(0, 3)), data.draw(st.floats(0, 3)))
        before = {name: dict(used) for name, used in situation.ledger.usage.items()}
        wanted = plain_targets(situation, asking)
        found = classical_targets(situation, asking)
        event(f"{len(found)} targets")
        assert list(found) == wanted
        assert list(classical_targets(situation, asking)) == wanted, "looked up"
        after = {name: {fr: n for fr, n in used.items() if n} for name, used in situation.ledger.usage.items()}
        assert after == {name: {fr: n for fr, n in used.items() if n} for name, used in before.items()}
        if holders and data.draw(st.booleans()):
            gone = holders.pop(data.draw(st.integers(0, len(holders) - 1)))
            book.remove(gone.queue, gone.key)

"""Kept attempts, skipped heads and repeated cycles of Kueue against fresh attempts."""

from __future__ import annotations

import random
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from apportion_api.kueue.names import ANY, API, LOWER_OR_NEWER, LOWER_PRIORITY, NEVER, NEXT_FLAVOR
from apportion_api.kueue.objects import FlavorQuotas, Fungibility, Preemption, ResourceFlavor, ResourceGroup
from apportion_runtime.engines.kueue.kept_attempts import KeptAttempts
from apportion_runtime.engines.kueue.last_cycle import LastCycle
from apportion_runtime.engines.kueue.model import MODEL as KUEUE
from apportion_runtime.engines.kueue.preemption import PreemptionSnapshot
from apportion_runtime.engines.kueue.quota_holders import QuotaHolders
from apportion_runtime.engines.kueue.quota_tree import Node, Quota
from apportion_runtime.engines.kueue.records import STRATEGIES, Holder, Pending, PodSet, Queue
from apportion_runtime.engines.kueue.scheduling_cycle import (
    Entry,
    Outcome,
    Rules,
    futile_assignment,
    run_cycle,
)
from apportion_runtime.engines.kueue.usage_tree import cohort_name
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import NodeShape, Pool, Scenario, Work
from apportion_runtime.sim.scenario.workload_manifests import Size, WorkloadFields, manifest_of

pytestmark = pytest.mark.property
GPU, CPU = "nvidia.com/gpu", "cpu"
FLAVORS = ("f", "g")
COHORTS = {"root": None, "left": "root", "right": "root", "inner": "left"}
QUEUES = tuple("abcdef")

_policies = st.sampled_from((NEVER, ANY, LOWER_PRIORITY, LOWER_OR_NEWER))
_preemption = st.builds(
    Preemption, _policies, _policies, st.sampled_from((NEVER, NEVER, LOWER_PRIORITY)), st.none() | st.integers(0, 2)
)


@st.composite
def _rules(draw: st.DrawFn) -> Rules:
    flavors = draw(st.sampled_from((FLAVORS, FLAVORS[:1])))
    limits = draw(st.sampled_from((st.none(), st.none() | st.integers(0, 4))))

    def quotas() -> dict[tuple[str, str], Quota]:
        of_gpus = {(f, GPU): Quota(draw(st.integers(0, 6)), draw(limits), draw(limits)) for f in flavors}
        return of_gpus | {(f, CPU): Quota(draw(st.integers(4, 20))) for f in flavors}

    groups = (ResourceGroup((CPU, GPU), tuple(FlavorQuotas(f, ()) for f in flavors)),)
    cohorts = [
        Node(cohort_name(name), above and cohort_name(above), draw(st.sampled_from((quotas(), {}))), is_cohort=True)
        for name, above in COHORTS.items()
    ]
    next_flavor = st.sampled_from(("MayStopSearch", NEXT_FLAVOR))
    queues = {
        name: Queue(
            name,
            draw(st.sampled_from((None, *COHORTS))),
            groups,
            quotas(),
            preemption=draw(_preemption),
            fungibility=Fungibility(when_can_borrow=draw(next_flavor), when_can_preempt=draw(next_flavor)),
        )
        for name in QUEUES
    }
    strategies = draw(st.sampled_from((None, None, STRATEGIES)))
    return Rules(queues, cohorts, {name: ResourceFlavor() for name in flavors}, strategies)


@st.composite
def _pending(draw: st.DrawFn, number: int, queue: str) -> Pending:
    gpus, cpus, priority = draw(st.integers(1, 5)), draw(st.integers(0, 8)), draw(st.integers(0, 2))
    n_sets = draw(st.sampled_from((1, 1, 2)))
    requests = {GPU: gpus, CPU: cpus}
    least = draw(st.sampled_from((None, None, 1)))
    sets = tuple(PodSet(f"s{i}", gpus, {}, requests, least) for i in range(n_sets))
    # A shape, as in the engine, contains everything that an attempt reads, except for the age.
    shape = f"{gpus} {cpus} {priority} {n_sets} {least}"
    at = float(draw(st.integers(0, 3)))
    return Pending(f"p{number}", queue, "ns", sets, str(number), priority, at, shape=shape)


@st.composite
def _holder(draw: st.DrawFn, number: int, rules: Rules) -> Holder:
    flavor = draw(st.sampled_from(tuple(rules.flavors)))
    usage = {(flavor, GPU): draw(st.integers(1, 3)), (flavor, CPU): draw(st.integers(0, 4))}
    name, priority, at = draw(st.sampled_from(QUEUES)), draw(st.integers(0, 2)), float(draw(st.integers(0, 3)))
    return Holder(f"h{number}", name, usage, f"u{number}", priority, at, at, draw(st.booleans()))


def _plain(rules: Rules, book: QuotaHolders, heads: list[Pending]) -> list[Entry]:
    """Return the entries of a cycle in which nothing is known."""
    kept = book.situation(5.0)
    fresh = PreemptionSnapshot(kept.queues, kept.ledger, kept.holders, 5.0, kept.generations)
    return run_cycle(rules, heads, fresh, refuses=lambda workload, queue: "")


@settings(max_examples=150, deadline=None)
@given(_rules(), st.data())
def test_kept_attempts_are_fresh_ones(rules: Rules, data: st.DataObject) -> None:
    book = QuotaHolders(rules.queues.values(), rules.cohorts)
    held: list[Holder] = []
    heads = {name: [data.draw(_pending(2 * i + k, name)) for k in (0, 1)] for i, name in enumerate(QUEUES)}
    for number in range(data.draw(st.integers(2, 12))):
        if held and data.draw(st.integers(0, 2)) == 0:
            gone = held.pop(data.draw(st.integers(0, len(held) - 1)))
            book.remove(gone.queue, gone.key)
        else:
            held.append(data.draw(_holder(number, rules)))
            book.put(held[-1])
        those = [data.draw(st.sampled_from(heads[name])) for name in QUEUES]
        expected = _plain(rules, book, those)
        situation = book.situation(5.0)
        futile = {head.key: found for head in those if (found := futile_assignment(rules, situation, head))}
        event(f"{len(futile)} futile heads")
        assert run_cycle(rules, those, situation, refuses=lambda workload, queue: "") == expected
        for entry in expected:
            if entry.workload.key in futile:
                assert (entry.outcome, entry.assignment) == (Outcome.WAITING, futile[entry.workload.key])
        # The others decide as they do with them.
        others = [head for head in those if head.key not in futile]
        alone = run_cycle(rules, others, situation, refuses=lambda workload, queue: "")
        assert alone == [entry for entry in expected if entry.workload.key not in futile]


def _object(kind: str, name: str, spec: Any, namespace: str = "") -> dict[str, Any]:
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _cluster(seed: int) -> Cluster:
    """Return a cluster in which 110 % of the devices are requested."""
    rng = random.Random(seed)
    shape = NodeShape({}, {"cpu": "64", "memory": "256Gi", "pods": "40", GPU: "8"})
    objects = [_object("ResourceFlavor", "f", {})]
    objects += [_object("Cohort", name, {"parentName": above} if above else {}) for name, above in COHORTS.items()]
    for name in QUEUES:
        amounts = (("cpu", 200), ("memory", "10Ti"), (GPU, rng.randrange(3, 9)))
        resources = [{"name": resource, "nominalQuota": amount} for resource, amount in amounts]
        flavors = [{"name": "f", "resources": resources}]
        preemption = {
            "reclaimWithinCohort": rng.choice((ANY, ANY, LOWER_PRIORITY, NEVER)),
            "withinClusterQueue": rng.choice((LOWER_PRIORITY, LOWER_OR_NEWER, NEVER)),
        }
        spec = {
            "cohortName": rng.choice(tuple(COHORTS)), "namespaceSelector": {}, "preemption": preemption,
            "resourceGroups": [{"coveredResources": ["cpu", "memory", GPU], "flavors": flavors}],
            "queueingStrategy": rng.choice(("BestEffortFIFO", "BestEffortFIFO", "StrictFIFO")),
        }  # fmt: skip
        objects += [_object("ClusterQueue", name, spec), _object("LocalQueue", name, {"clusterQueue": name}, "ns")]
    for name, value in (("high", 100), ("low", 10)):
        made = _object("WorkloadPriorityClass", name, None)
        objects.append({**{key: of for key, of in made.items() if key != "spec"}, "value": value})
    works: list[Work] = []
    for number in range(60):
        n_pods, queue, priority = rng.choice((1, 1, 2, 4)), rng.choice(QUEUES), rng.choice(("high", "low", "low"))
        size = Size("1", "1Gi", rng.choice((1, 1, 2)))
        job = WorkloadFields(
            "Job", f"w{number}", "ns", queue, priority, size, n_pods, n_pods, workload_labels=KUEUE.workload_labels
        )
        works.append(Work(manifest_of(job), arrives_s=rng.uniform(0, 3600), work_s=rng.uniform(300, 3600)))
    # It ends even if workloads preempt each other again and again.
    scenario = Scenario(pools=(Pool("n", shape, 4, 4, 4),), works=tuple(works), until_s=3000.0)
    return Cluster(objects, scenario, KUEUE, keeps_facts=False)


def _course(seed: int) -> str:
    cluster = _cluster(seed)
    changes: list[str] = []
    cluster.cluster_state.store.watch("Workload", lambda change: changes.append(repr(change)))
    return repr((cluster.run(), changes))


def _nothing(*_: object) -> None:
    return None


def _check_course(seed: int) -> None:
    expected = _course(seed)
    with ExitStack() as stack:
        for owner, name in ((KeptAttempts, "find"), (LastCycle, "entries_for"), (LastCycle, "repeats")):
            stack.enter_context(patch.object(owner, name, _nothing))
        assert _course(seed) == expected


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 3))
def test_simulations_do_not_depend_on_kept_attempts(seed: int) -> None:
    _check_course(seed)


def test_time_passes_while_workloads_preempt_each_other() -> None:
    cluster = _cluster(94388)
    cluster.run()
    assert cluster.cluster_state.elapsed_s == 3000.0

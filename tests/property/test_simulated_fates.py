"""The bounds of the simulated engines hold against their own simulations, whatever is requested: random clusters of
ACK and of plain Kubernetes, under every change of one thing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from tests.unit.review.pod_objects import objects_of

from apportion_review.fates.cluster_state import cluster_states
from apportion_review.fates.engine_fates import engine_fates
from apportion_review.fates.records import Fate, WorkloadFate

GPU = "nvidia.com/gpu"
CLASSES = {"low": 0, "middle": 50, "high": 100}
NAMESPACES = ("a", "b", "c")
KEPT = (Fate.SAFE, Fate.STUCK)
Made = dict[str, Any]


def _cluster(chance: random.Random) -> Made:
    """Draw up to three nodes with running pods of three namespaces, and a few pending pods."""
    nodes = {f"n{number}": 8 for number in range(chance.randint(1, 3))}
    free = dict(nodes)
    pods: dict[str, Made] = {}
    for number in range(chance.randint(2, 9)):
        gpus, node = chance.choice((1, 2, 4, 8)), chance.choice(list(nodes))
        if gpus <= free[node]:
            free[node] -= gpus
            pods[f"r{number}"] = {"gpus": gpus, "node": node, **_kind(chance)}
    for number in range(chance.randint(1, 5)):
        pods[f"p{number}"] = {"gpus": chance.choice((1, 2, 4, 8)), "pending": True, **_kind(chance)}
    classes = dict(chance.sample(sorted(CLASSES.items()), chance.randint(1, 3)))
    for pod in pods.values():
        pod["class"] = pod["class"] if pod["class"] in classes else next(iter(classes))
    lost = chance.sample(sorted(nodes), chance.randint(0, 1)) if len(nodes) > 1 else []
    return {"nodes": nodes, "pods": pods, "classes": classes, "lost": lost}


def _kind(chance: random.Random) -> Made:
    return {"namespace": chance.choice(NAMESPACES), "class": chance.choice(list(CLASSES))}


def _ack(chance: random.Random) -> list[Made]:
    def node(name: str) -> Made:
        least = chance.choice((0, 2, 4, 8))
        most = chance.choice((None, least, least + 4, 16))
        bounds = {"min": {GPU: least}, **({} if most is None else {"max": {GPU: most}})}
        return {"name": name, "namespaces": [name], **bounds}

    children = [node(name) for name in NAMESPACES[: chance.randint(2, 3)]]
    root = {"name": "root", "min": {GPU: 24}, "max": {GPU: chance.choice((8, 24))}, "children": children}
    metadata = {"name": "tree", "namespace": "kube-system"}
    api = "scheduling.sigs.k8s.io/v1beta1"
    return [{"apiVersion": api, "kind": "ElasticQuotaTree", "metadata": metadata, "spec": {"root": root}}]


def _native(chance: random.Random) -> list[Made]:
    return [
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": f"q-{name}", "namespace": name},
            "spec": {"hard": {f"requests.{GPU}": chance.choice((0, 4, 8, 16))}},
        }
        for name in NAMESPACES
        if chance.random() < 0.7
    ]


POLICIES = {"ack": _ack, "native": _native}


def _flood(case: Mapping[str, Any]) -> Made:
    """Return a cluster in which every namespace requests far more than the capacity, in every class."""
    wanted = {
        f"z-{namespace}-{name}-{gpus}-{number}": {"gpus": gpus, "namespace": namespace, "class": name, "pending": True}
        for namespace in NAMESPACES
        for name in case["classes"]
        for gpus in (1, 8)
        for number in range(2)
    }
    return {**case, "pods": {**case["pods"], **wanted}}


def _rows(engine: str, case: Mapping[str, Any]) -> Mapping[str, WorkloadFate]:
    base, head = (list(objects_of(case, is_head=is_head)) for is_head in (False, True))
    return {row.workload.name: row for row in engine_fates(engine, *cluster_states(base, head, now=None)).rows}


def _cases(engine: str, number: int) -> Iterator[Made]:
    for seed in range(number):
        chance = random.Random(f"simulated-{engine}-{seed}")
        made = _cluster(chance)
        base, head = POLICIES[engine](chance), POLICIES[engine](chance)
        yield {**made, "objects": base, "head": head}


@pytest.mark.parametrize("engine", POLICIES)
def test_safe_work_survives_any_demand(engine: str) -> None:
    fates: Counter[Fate] = Counter()
    n_evicted = 0
    for case in _cases(engine, 40):
        rows, flooded = _rows(engine, case), _rows(engine, _flood(case))
        for name, row in rows.items():
            for before, after in ((row.base, flooded[name].base), (row.head, flooded[name].head)):
                assert not (before.fate in KEPT and after.fate is Fate.EVICTED), (name, before, after)
                fates[before.fate] += 1
                n_evicted += after.fate is Fate.EVICTED
    # The comparison is not vacuous.
    assert min(fates[fate] for fate in (Fate.SAFE, Fate.ON_DEMAND, Fate.EVICTED)) >= 10, fates
    assert n_evicted >= 60


@pytest.mark.parametrize("engine", POLICIES)
def test_pending_work_changes_fates_only_by_a_named_rule(engine: str) -> None:
    n_worse = 0
    for case in _cases(engine, 40):
        idle = {**case, "pods": {name: pod for name, pod in case["pods"].items() if not pod.get("pending")}}
        rows, before = _rows(engine, case), _rows(engine, idle)
        assert rows.keys() == before.keys()
        for name, row in rows.items():
            for now, then in ((row.base, before[name].base), (row.head, before[name].head)):
                if now.fate is not then.fate:
                    n_worse += 1
                    assert now.fate is Fate.EVICTED, (name, then, now)
                    assert "which is pending in" in now.rule
                    assert then.fate is Fate.ON_DEMAND
    assert n_worse >= 10

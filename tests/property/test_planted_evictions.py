"""Evictions that are known by construction appear in the summary of the comment.

Random teams, full nodes, and quota moved to a team with a pending job, through the whole review of two policies and a
snapshot.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.review import kai_objects, kueue_objects, pod_objects
from tests.unit.review.crafted_reviews import side

from apportion_review.cluster_reviews import ClusterSnapshot
from apportion_review.gates import Thresholds
from apportion_review.policy_review import ReviewInputs, policy_review
from apportion_review.report.comment import comment
from apportion_review.report.verdict import Level, verdict
from apportion_review.review import Review, SnapshotInfo

Amounts = dict[str, int]
CLUSTER = "prod/gpu"


@dataclass(frozen=True)
class Planted:
    """A change whose victims are known by construction.

    Attributes:
        base: GPUs guaranteed to each team, as many as its running work has.
        head: After the change.
        cluster: Description of the snapshot, as `objects_of` takes it.
        evicted: Jobs that the engine evicts for the pending job.
        stuck: Jobs that cannot be evicted and whose queue is over its quota.
    """

    base: Amounts
    head: Amounts
    cluster: Mapping[str, Any]
    evicted: frozenset[str]
    stuck: frozenset[str] = frozenset()


def _policy(engine: tuple[str, str], guaranteed: Amounts, nodes: int) -> str:
    bound = "limit" if engine == NATIVE else "guaranteed"
    pool = {"id": "h100", "cpu": 96, "memory": "900Gi", "accelerator": {"model": "h100", "count": 8}}
    return yaml.safe_dump({
        "apiVersion": "apportion.dev/v1",
        "kind": "Policy",
        "organisation": {"name": "acme", "owner": "@acme/platform"},
        "queues": [
            {"id": team, "owner": f"@acme/{team}", "namespaces": [team], bound: {"gpu": gpus}}
            for team, gpus in guaranteed.items()
        ],
        "node_pools": [{**pool, "min_nodes": nodes, "max_nodes": nodes}],
        "environments": [
            {"name": "prod", "clusters": [{"name": "gpu", "engine": engine[0], "engine_version": engine[1]}]}
        ],
    })  # fmt: skip


def _planted(chance: random.Random, classes: Mapping[str, Any], size: Callable[[int], Amounts]) -> Planted:
    """Return a move of quota between two teams; the former owner runs lower-class jobs on it.

    Args:
        chance: Of the teams, their guarantees and the move.
        classes: Fields of a job that is evicted first, and of the others.
        size: Fields of a job of some pods with one GPU each.
    """
    teams = [f"team-{n}" for n in range(chance.randint(2, 6))]
    nodes = chance.randint(1, 4)
    base = dict.fromkeys(teams, 1)
    for _ in range(nodes * 8 - len(teams)):
        base[chance.choice(teams)] += 1
    loser, gainer = chance.sample(teams, 2)
    moved = chance.randint(1, min(base[loser], 8))
    running: dict[str, Any] = {}
    evicted = set()
    for team in teams:
        victims = moved if team == loser else 0
        for number in range(base[team]):
            name = f"{team}-job-{number}"
            is_victim = number < victims
            running[name] = {"queue": team, "gpus": 1, **classes["low" if is_victim else "high"]}
            evicted |= {name} if is_victim else set()
    head = {**base, loser: base[loser] - moved, gainer: base[gainer] + moved}
    waiting = {"wanted": {"queue": gainer, **size(moved), **classes["high"]}}
    return Planted(base, head, {"nodes": nodes, "running": running, "pending": waiting}, frozenset(evicted))


def _reviewed(
    planted: Planted, engine: tuple[str, str], objects: Callable[..., Iterator[dict[str, Any]]], folder: Path
) -> Review:
    sides = [
        side(folder, _policy(engine, amounts, planted.cluster["nodes"]), name)
        for name, amounts in (("base", planted.base), ("head", planted.head))
    ]
    found = ClusterSnapshot(
        SnapshotInfo("prod.json", "sha256:0", kai_objects.START + kai_objects.SNAPSHOT_S, 60),
        list(objects({**planted.cluster, "queues": {}})),
    )
    thresholds = Thresholds(max_evictions=0)
    return policy_review(*sides, ReviewInputs(snapshots={CLUSTER: found}, thresholds=thresholds))


def _first_screen(review: Review) -> str:
    screen = comment(review).partition("<details>")[0]
    assert len(screen.splitlines()) <= 25
    return screen


def _check(planted: Planted, review: Review) -> None:
    """Assert that the summary, the verdict and the gate report the planted evictions and no others."""
    assert verdict(review).level is Level.DESTRUCTIVE
    assert [gate.has_failed for gate in review.gates] == [bool(planted.evicted)]
    table = [line for line in _first_screen(review).splitlines() if "**evicted now**" in line or "**stuck" in line]
    for fate, names in (("evicted now", planted.evicted), ("stuck over its limit", planted.stuck)):
        rows = [line for line in table if f"**{fate}**" in line]
        shown = {name.strip("` ") for line in rows for name in line.split("|")[1].split(", ")}
        assert {name.removeprefix("and ") for name in shown} == set(names), fate


KAI, KUEUE = ("kai", "0.17.0"), ("kueue", "0.18.3")
ACK, NATIVE = ("ack", "1.36.3"), ("native", "1.36.3")
TRAIN, BUILD = {"class": "train"}, {"class": "build"}
CLASSES = {"train": 50, "build": 100}
KAI_CLASSES = {"low": TRAIN, "high": BUILD}
KUEUE_CLASSES = {"low": {"priority": 0}, "high": {"priority": 100}}


def _gang(gpus: int) -> Amounts:
    return {"pods": gpus, "gpus": 1}


def _workload(gpus: int) -> Amounts:
    return {"gpus": gpus}


def _kueue_objects(cluster: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield objects with the flavor of a policy without GPU models."""
    yield from json.loads(json.dumps(list(kueue_objects.objects_of(cluster))).replace('"h100"', '"any-node"'))


def _owned_pods(cluster: Mapping[str, Any], waiting: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield nodes, running Jobs of one pod each, and the pending pods."""
    nodes = {f"n{number}": 8 for number in range(cluster["nodes"])}
    places = [node for node in nodes for _ in range(8)]
    running = {
        name: {"gpus": 1, "namespace": job["queue"], "class": job["class"], "node": places[number]}
        for number, (name, job) in enumerate(cluster["running"].items())
    }
    return pod_objects.objects_of(
        {"nodes": nodes, "pods": {**running, **waiting}, "objects": (), "classes": CLASSES}, is_head=False
    )


def _ack_objects(cluster: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pods of a cluster; the pending ones were created before the change."""
    ((_, wanted),) = cluster["pending"].items()
    pod = {"gpus": 1, "namespace": wanted["queue"], "class": wanted["class"], "pending": True}
    yield from _owned_pods(cluster, {f"wanted-{number}": pod for number in range(wanted["pods"])})


def _native_objects(cluster: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the pods of a cluster, and a Job whose pods the quota rejects."""
    ((_, wanted),) = cluster["pending"].items()
    container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": "1"}}}
    template = {"spec": {"priorityClassName": wanted["class"], "containers": [container]}}
    yield from _owned_pods(cluster, {})
    yield {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "wanted", "namespace": wanted["queue"]},
        "spec": {"parallelism": wanted["pods"], "template": template},
    }


@pytest.mark.parametrize("seed", range(12))
def test_evictions_by_ack_are_above_the_fold(seed: int, tmp_path: Path) -> None:
    planted = _planted(random.Random(f"planted-{seed}"), KAI_CLASSES, _gang)
    _check(planted, _reviewed(planted, ACK, _ack_objects, tmp_path))


@pytest.mark.parametrize("seed", range(12))
def test_evictions_by_kube_scheduler_are_above_the_fold(seed: int, tmp_path: Path) -> None:
    planted = _planted(random.Random(f"planted-{seed}"), KAI_CLASSES, _gang)
    review = _reviewed(planted, NATIVE, _native_objects, tmp_path)
    _check(planted, review)
    # Recorded runs cover the configuration that the policy compiles to.
    assert [cluster.fates is not None and cluster.fates.is_verified for cluster in review.clusters] == [True]


@pytest.mark.parametrize("seed", range(12))
def test_evictions_by_kai_are_above_the_fold(seed: int, tmp_path: Path) -> None:
    planted = _planted(random.Random(f"planted-{seed}"), KAI_CLASSES, _gang)
    _check(planted, _reviewed(planted, KAI, kai_objects.objects_of, tmp_path))


@pytest.mark.parametrize("seed", range(12))
def test_evictions_by_kueue_are_above_the_fold(seed: int, tmp_path: Path) -> None:
    planted = _planted(random.Random(f"planted-{seed}"), KUEUE_CLASSES, _workload)
    _check(planted, _reviewed(planted, KUEUE, _kueue_objects, tmp_path))


@pytest.mark.parametrize("seed", range(6))
def test_stuck_work_is_above_the_fold(seed: int, tmp_path: Path) -> None:
    """The quota is lowered below the usage of workloads that KAI never evicts: the newest jobs exceed it."""
    planted = _planted(random.Random(f"stuck-{seed}"), {"low": BUILD, "high": BUILD}, _gang)
    (loser,) = {name.partition("-job-")[0] for name in planted.evicted}
    jobs = [name for name, job in planted.cluster["running"].items() if job["queue"] == loser]
    newest = frozenset(jobs[-len(planted.evicted) :])
    stuck = Planted(planted.base, planted.head, {**planted.cluster, "pending": {}}, frozenset(), newest)
    _check(stuck, _reviewed(stuck, KAI, kai_objects.objects_of, tmp_path))

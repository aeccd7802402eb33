"""The day of seed 002 in the form of ack_random, with room for every job, so that only the quotas decide.

Neither engine has both policies of the day: kube-queue decides it with the policy `Round` in every queue, and koord-queue
with `Priority`, to which it changes `Round`. For koord-queue, whose queues notice each other late, times are steps: the
times of the day at which anything but a decision happens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.conformance.ack_timelines import queue_object
from tests.conformance.seed_scenarios import Object, read_example

from apportion_runtime.kube_queue.jobs import demand
from apportion_runtime.kube_queue.tree import Tree, read_tree
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.history import Fact, History
from apportion_runtime.sim.scenario.format import Scenario

Case = Mapping[str, Any]
EXAMPLE = "seed-002-ack-kube-queue"
_POLICIES = {"koord-queue": "Priority", "kube-queue": "Round"}
_RECORDED = Path(__file__).parent / "seeds" / "ack.jsonl"
_NODES = [{"pool": "default", "count": 4, "cpu": 32, "memory": "256Gi", "gpus": 8, "gpu_memory": 24576}]
_CHANGES = ("priority", "jumped")
_PRIORITY = re.compile(r"to (\d+), rank")


def recorded_days() -> Iterator[Case]:
    yield from map(json.loads, _RECORDED.read_text().splitlines())


def with_room(document: Object) -> Object:
    """Return the document of the scenario with room for all jobs."""
    events = [event for event in document["events"] if "job" in event]
    return {**document, "nodes": _NODES, "until": "12h", "events": events, "timing": {}}


def simulated_day(policy: str | None = None) -> tuple[Object, Scenario, History]:
    """Return the tree of quotas of the day, its scenario and its simulation, with a policy for every queue or its own ones."""
    read, scenario = read_example(EXAMPLE, with_room)
    (root,) = (made["spec"]["root"] for made in read.objects if made["kind"] == "ElasticQuotaTree")
    tree = read_tree({"spec": {"root": root}})
    if policy is not None:
        scenario = replace(scenario, objects=tuple(map(queue_object, _queues(tree, policy))))
    return root, scenario, Cluster(read.objects, scenario, read.model).run()


def day_of(engine: str) -> Case:
    """Return the day with the policy of an engine, as a case without its decisions."""
    policy = _POLICIES[engine]
    root, scenario, history = simulated_day(policy)
    tree = read_tree({"spec": {"root": root}})
    times = times_of(engine, history)
    decisive = [fact for fact in history.facts if fact.what in ("arrived", "dequeued", "finished")]
    at = {(fact.what, fact.workload): times.index(round(fact.at_s)) for fact in decisive}
    paths = {namespace: path for path, quota in tree.quotas.items() for namespace in quota.namespaces}
    return {
        "seed": f"seed-002-{engine}",
        "engine": engine,
        "tree": root,
        "queues": list(_queues(tree, policy)),
        "jobs": [_job(work.manifest, at, paths) for work in scenario.works],
        "changes": [
            {"at": times.index(round(fact.at_s)), "job": fact.workload, "priority": _new_priority(fact)}
            for fact in history.facts
            if fact.what in _CHANGES
        ],
        "until": max(number for (what, _), number in at.items() if what == "finished"),
    }


def dequeued(engine: str) -> list[tuple[int, str]]:
    """Return the jobs that the simulated cluster dequeues with the policy of an engine, in its times."""
    _, _, history = simulated_day(_POLICIES[engine])
    times = times_of(engine, history)
    return [(times.index(round(fact.at_s)), fact.workload) for fact in history.facts if fact.what == "dequeued"]


def times_of(engine: str, history: History) -> Sequence[int]:
    """Return the seconds of the day that an engine's times stand for."""
    if engine == "kube-queue":
        return range(round(history.facts[-1].at_s) + 1)
    return sorted({round(fact.at_s) for fact in history.facts if fact.what in ("arrived", "finished", *_CHANGES)})


def _queues(tree: Tree, policy: str) -> Iterator[Object]:
    for path in tree.quotas:
        settings = {"priority": 0, "first": 1, "longest": 20, "policy": policy}
        yield {"name": path.replace("/", "-"), "quota": path, **settings}


def _job(manifest: Mapping[str, Any], at: Mapping[tuple[str, str], int], paths: Mapping[str, str]) -> Object:
    name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
    requests = demand(manifest)
    return {
        "name": name,
        "namespace": namespace,
        "labels": manifest["metadata"].get("labels", {}),
        "priority": 0,
        "requests": {**requests, "cpu": f"{requests['cpu']}m"},
        "count": 1,
        "at": at["arrived", name],
        "runs": at["finished", name] - at["dequeued", name],
        "queue": paths[namespace].replace("/", "-"),
    }


def _new_priority(fact: Fact) -> int:
    (found,) = _PRIORITY.findall(fact.why)
    return int(found)

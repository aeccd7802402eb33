"""A described timeline under Volcano, run by the simulator: arrivals, deletions and evictions. See volcano_random/README.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tests.unit.review.volcano_objects import GPU
from tests.unit.review.volcano_tree_objects import MODEL, objects_of

from apportion_runtime.engines.volcano.model import MODEL as VOLCANO
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import Scenario, Timing, Work

Decision = list[Any]
"""Second, what, workload, and the number of pods by node."""

START = 1_790_000_000.0


def job_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a workload as a Volcano Job."""
    spec: dict[str, Any] = {"schedulerName": "volcano", "queue": said["queue"], "minAvailable": said["min"]}
    if said["class"]:
        spec["priorityClassName"] = said["class"]
    tasks = said.get("tasks") or [{"name": "p", "replicas": said["replicas"], "req": said["req"]}]
    spec["tasks"] = [_task_of(said, task) for task in tasks]
    api = "batch.volcano.sh/v1alpha1"
    return {"apiVersion": api, "kind": "Job", "metadata": {"name": said["name"], "namespace": "work"}, "spec": spec}


def _task_of(said: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task of a workload, which may have a minimum and a class of its own."""
    asked = {name: amount for name, amount in zip((GPU, "cpu", "memory"), task["req"], strict=True) if amount}
    requests = {name: f"{amount}Gi" if name == "memory" else str(amount) for name, amount in asked.items()}
    pod: dict[str, Any] = {"containers": [{"name": "main", "resources": {"requests": requests, "limits": requests}}]}
    class_name = task.get("class", said["class"])
    if class_name:
        pod["priorityClassName"] = class_name
    if said.get("model"):
        pod["nodeSelector"] = {MODEL: said["model"]}
    if "tolerations" in said:
        pod["tolerations"] = said["tolerations"]
    template: dict[str, Any] = {"spec": pod}
    if said.get("keep"):
        template["metadata"] = {"annotations": {"volcano.sh/preemptable": "false"}}
    made: dict[str, Any] = {"name": task["name"], "replicas": task["replicas"], "template": template}
    if "min" in task:
        made["minAvailable"] = task["min"]
    return made


def scenario_of(case: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a case: each workload is deleted some time after its arrival."""
    works = tuple(
        Work(job_of(said), arrives_s=float(said["at"]), lifetime_s=float(said["stays"]))
        for said in case["cluster"]["jobs"]
    )
    timing = Timing(container_start_s=0.0, grace_s=float(case["grace"]))
    return Scenario((), works, timing=timing, start=START, until_s=float(case["until"]))


def agrees(case: Mapping[str, Any]) -> bool:
    """Return whether the simulated engine decides as in one of the recorded outcomes."""
    return simulated(case) in case["outcomes"]


def simulated(case: Mapping[str, Any]) -> list[Decision]:
    """Return the pods that the simulated engine binds and evicts at each second, in order of time and workload."""
    cluster = Cluster(list(objects_of({**case["cluster"], "jobs": []})), scenario_of(case), VOLCANO)
    found: Counter[tuple[int, str, str, str]] = Counter()
    for fact in cluster.run().facts:
        if fact.what in ("bound", "evicted"):
            found[round(fact.at_s), fact.what, fact.workload, fact.node] += 1
    return by_workload(found)


def by_workload(counts: Mapping[tuple[int, str, str, str], int]) -> list[Decision]:
    """Return the counts of pods by second, event, workload and node as decisions."""
    made: dict[tuple[int, str, str], dict[str, int]] = {}
    for (at, what, workload, node), count in sorted(counts.items()):
        made.setdefault((at, what, workload), {})[node] = count
    return [[*key, nodes] for key, nodes in made.items()]

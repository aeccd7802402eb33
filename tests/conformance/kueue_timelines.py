"""A described timeline under Kueue, run by the simulator: arrivals, completions and evictions. See kueue_random/README.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.unit.review.kueue_flavor_objects import API, START, objects_of

from apportion_runtime.engines.kueue.model import MODEL
from apportion_runtime.sim.api.object_store import Change
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import NodeShape, Pool, Scenario, Timing, Work

Decision = list[Any]
"""Second, what, workload, and the pod sets with their flavors, or the reason and the preemptor."""

_Object = dict[str, Any]
_ROOM = {
    "nvidia.com/gpu": "100000",
    "cpu": "100000",
    "memory": "100Ti",
    "pods": "100000",
    "example.com/license": "100000",
}
_TAINT = {"effect": "NoSchedule", "value": "true"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_REASON = re.compile(r"(\w+): ")


def configuration_of(cluster: Mapping[str, Any]) -> Iterator[_Object]:
    """Yield the objects of a described cluster without its workloads."""
    for made in objects_of({**cluster, "workloads": {}}):
        if made["kind"] == "ResourceFlavor":
            yield {**made, "spec": dict(_flavor_fields(cluster, made["metadata"]["name"]))}
        elif made["kind"] == "Configuration":
            yield {**made, "metadata": {"name": "configuration"}}
        elif made["kind"] == "ClusterQueue":
            selected = cluster["queues"][made["metadata"]["name"]].get("selects", {})
            selector = {"matchLabels": selected} if selected else {}
            yield {**made, "spec": {**made["spec"], "namespaceSelector": selector}}
        else:
            yield made
    for name, queue in cluster.get("locals", {}).items():
        metadata = {"name": name, "namespace": name}
        yield {"apiVersion": API, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": queue}}
    for name, labels in cluster.get("namespaces", {}).items():
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _flavor_fields(cluster: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a flavor that are set."""
    if labels := cluster.get("labels", {}).get(name):
        yield "nodeLabels", labels
    if taint := cluster.get("taints", {}).get(name):
        effect = cluster.get("effects", {}).get(name, _TAINT["effect"])
        yield "nodeTaints", [{**_TAINT, "key": taint, "effect": effect}]
    if tolerated := cluster.get("tolerations", {}).get(name):
        yield "tolerations", [{"key": tolerated, "operator": "Exists"}]


def template_of(pods: Mapping[str, Any]) -> _Object:
    """Return the pod template of a described pod set."""
    requests = {key: str(amount) for key, amount in pods["requests"].items()}
    spec: _Object = {"restartPolicy": "Never"}
    spec["containers"] = [{"name": "main", "image": "i", "resources": {"requests": requests, "limits": requests}}]
    if "selector" in pods:
        spec["nodeSelector"] = pods["selector"]
    if "affinity" in pods:
        terms = [
            {"matchExpressions": [dict(zip(("key", "operator", "values"), each, strict=True)) for each in term]}
            for term in pods["affinity"]
        ]
        spec["affinity"] = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": terms}}}
    if "tolerates" in pods:
        spec["tolerations"] = [{"key": key, "operator": "Exists"} for key in pods["tolerates"]]
    return {"spec": spec}


def job_of(name: str, said: Mapping[str, Any]) -> _Object:
    """Return a workload as a Job, or as a JobSet if it has more than one pod set."""
    metadata: _Object = {
        "name": name,
        "namespace": said["queue"],
        "uid": said["uid"],
        "labels": {"kueue.x-k8s.io/queue-name": said["queue"], "kueue.x-k8s.io/priority-class": said["class"]},
    }
    specs = [
        {"parallelism": pods["count"], "completions": pods["count"], "template": template_of(pods)}
        for pods in said["pods"]
    ]
    if len(specs) > 1:
        jobs = [{"name": f"s{n}", "replicas": 1, "template": {"spec": spec}} for n, spec in enumerate(specs)]
        api = "jobset.x-k8s.io/v1alpha2"
        return {"apiVersion": api, "kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": jobs}}
    if "least" in said["pods"][0]:
        prefix = "kueue.x-k8s.io/job-"
        least = str(said["pods"][0]["least"])
        metadata["annotations"] = {
            f"{prefix}min-parallelism": least,
            f"{prefix}completions-equal-parallelism": "true",
        }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": specs[0]}


def _pools(cluster: Mapping[str, Any]) -> Iterator[Pool]:
    """Yield nodes with room for everything, of each flavor or as described, so that only quota decides."""
    for number, labels in enumerate(cluster.get("nodes", ())):
        yield Pool(f"node-{number}", NodeShape(labels, _ROOM), 1, 1, 1)
    if "nodes" in cluster:
        return
    for flavor in cluster["flavors"]:
        labels, taint = cluster.get("labels", {}).get(flavor, {}), cluster.get("taints", {}).get(flavor)
        taints = ({**_TAINT, "key": taint},) if taint else ()
        yield Pool(flavor, NodeShape(labels, _ROOM, taints), 1, 1, 1)


def scenario_of(case: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a case: each workload runs for its duration once it is admitted."""
    works = tuple(
        Work(job_of(name, said), arrives_s=float(said["at"]), work_s=float(said["runs"]))
        for name, said in case["cluster"]["workloads"].items()
    )
    timing = Timing(container_start_s=0.0, grace_s=float(case["grace"]))
    pools = tuple(_pools(case["cluster"]))
    return Scenario(pools, works, timing=timing, start=float(START), until_s=float(case["until"]))


def agrees(case: Mapping[str, Any]) -> bool:
    """Return whether the simulated engine decides as in one of the recorded outcomes."""
    return simulated(case) in case["outcomes"]


def simulated(case: Mapping[str, Any]) -> list[Decision]:
    """Return every reservation and every preemption of the simulated engine, in order of time and name."""
    cluster = Cluster(list(configuration_of(case["cluster"])), scenario_of(case), MODEL)
    found: list[Decision] = []
    held: set[str] = set()

    def note(change: Change) -> None:
        name = change.made["metadata"]["ownerReferences"][0]["name"]
        status = change.made.get("status") or {}
        now = {each["type"]: each["status"] == "True" for each in status.get("conditions") or ()}
        if change.what == "deleted" or not now.get("QuotaReserved"):
            held.discard(name)
        elif name not in held:
            held.add(name)
            sets = [[each["count"], each["flavors"]] for each in status["admission"]["podSetAssignments"]]
            found.append([round(cluster.cluster_state.elapsed_s), "reserved", name, sets])

    cluster.cluster_state.store.watch("Workload", note)
    history = cluster.run()
    for fact in history.facts:
        if fact.what == "preempted":
            reason = _REASON.match(fact.why)
            assert reason is not None
            found.append([round(fact.at_s), "preempted", fact.workload, [reason[1], fact.by]])
    return sorted(found, key=lambda each: (each[0], each[1], each[2]))

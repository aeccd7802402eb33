"""Recorded timelines of Koordinator, run on the simulated engine: nodes, quotas, and pods that come and go.

The scheduler runs every ten seconds. The decisions of each run are the pods that are revoked, those that are preempted,
those that are bound with their nodes, and the runtime quotas afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.conformance.koordinator_profiles import emitted_configuration

from apportion_runtime.engines.koordinator.engine import Koordinator
from apportion_runtime.engines.koordinator.model import MODEL
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import Incident, Scenario, Timing, Work

Made = dict[str, Any]
STEP_S = 10.0
_PLUGINS = {
    "preFilter": {"enabled": [{"name": "ElasticQuota"}]},
    "postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}, {"name": "ElasticQuota"}]},
    "permit": {"enabled": [{"name": "Coscheduling"}]},
    "preScore": {"enabled": [{"name": "NodeResourcesFitPlus"}]},
    "score": {
        "disabled": [{"name": name} for name in ("NodeResourcesFit", "PodTopologySpread", "InterPodAffinity")],
        "enabled": [{"name": "NodeResourcesFitPlus", "weight": 10}],
    },
}


def simulated(case: Mapping[str, Any]) -> list[Made]:
    """Return the decisions of every run of the scheduler from the first recorded one on."""
    runs: list[Made] = []

    def engine(cluster_state: ClusterState) -> Koordinator:
        return _Timeline(cluster_state, float(case["until"]), runs)

    works = tuple(Work(_pod(pod), arrives_s=float(pod["at"]), work_s=pod["duration"]) for pod in case["pods"])
    timing = Timing(period_s=1.0, container_start_s=2.0)
    Cluster(
        tuple(_objects(case)),
        Scenario(works=works, incidents=tuple(_incidents(case)), timing=timing, until_s=float(case["until"])),
        replace(MODEL, made_by=engine),
    ).run()
    first = case["runs"][0]["at"]
    return [run for run in runs if run["at"] >= first]


def outcomes(case: Mapping[str, Any]) -> list[list[Made]]:
    """Return the recorded outcomes of a case; there are `others` where Koordinator's decisions depend on chance."""
    return [case["runs"], *case.get("others", ())]


def difference(case: Mapping[str, Any]) -> str:
    """Return where the simulation differs from the first recorded outcome; empty if it is one of the outcomes."""
    runs = simulated(case)
    found = [_difference(case["seed"], runs, outcome) for outcome in outcomes(case)]
    return "" if "" in found else found[0]


def _difference(seed: int | str, runs: Sequence[Made], outcome: Sequence[Made]) -> str:
    """Return the first run that differs from the recorded one, in its decisions or in a runtime quota; empty if none."""
    runtime: dict[str, dict[str, int]] = {}
    for found, recorded in zip(runs, outcome, strict=True):
        runtime.update(recorded["runtime"])
        expected = {**recorded, "runtime": {name: runtime.get(name, {}) for name in found["runtime"]}}
        if found != expected:
            return f"case {seed} at {recorded['at']:g}s: {found}, recorded {expected}"
    return ""


def agrees(case: Mapping[str, Any]) -> bool:
    """Return whether the simulated engine decides as recorded."""
    return not difference(case)


class _Timeline(Koordinator):
    """The engine, which notes the decisions of each run."""

    def __init__(self, cluster_state: ClusterState, until_s: float, runs: list[Made]) -> None:
        super().__init__(cluster_state)
        self._until_s, self._runs = until_s, runs
        self._n_taken = 0
        self._bound: set[tuple[str, str]] = set()

    def run_cycle(self) -> None:
        cluster_state = self.cluster_state
        if cluster_state.elapsed_s % STEP_S:
            cluster_state.request_cycle()
            return
        super().run_cycle()
        taken = cluster_state.history.taken[self._n_taken :]
        self._n_taken += len(taken)
        bound = {(pod.name, pod.record.node or "") for pod in cluster_state.pods.values() if pod.is_bound}
        self._runs.append(
            {
                "at": cluster_state.elapsed_s,
                "revoked": sorted(each.pod for each in taken if each.action == "revoke"),
                "preempted": sorted(each.pod for each in taken if each.action == "preempt"),
                "bound": sorted([*pod] for pod in bound - self._bound),
                "runtime": {
                    name: {key: amount for key, amount in self._accounts.state(name).runtime.items() if amount}
                    for name in self.parents
                },
            }
        )
        self._bound |= bound
        if cluster_state.elapsed_s + STEP_S <= self._until_s:
            cluster_state.request_cycle(cluster_state.now + STEP_S)


def _pod(pod: Mapping[str, Any]) -> Made:
    spec: Made = {
        "schedulerName": "koord-scheduler",
        "priorityClassName": pod["class"],
        "terminationGracePeriodSeconds": pod["grace"],
        "containers": [{"name": "main", "resources": {"requests": pod["requests"], "limits": pod["requests"]}}],
        "nodeSelector": pod["selector"],
    }
    metadata = {key: pod[key] for key in ("name", "namespace", "labels", "annotations")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _configuration(case: Mapping[str, Any]) -> str:
    """The configuration that the compiler emits, if the case names one, else one with the case's arguments."""
    if "profile" in case:
        return emitted_configuration(case["profile"])
    arguments = {"ElasticQuota": case["args"], "NodeResourcesFitPlus": {"resources": case["fit"]}}
    profile = {
        "schedulerName": "koord-scheduler",
        "pluginConfig": [{"name": name, "args": args} for name, args in arguments.items()],
        "plugins": _PLUGINS,
    }
    return json.dumps({"profiles": [profile]})


def _objects(case: Mapping[str, Any]) -> Iterator[Made]:
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "koord-scheduler-config", "namespace": "koordinator-system"},
        "data": {"koord-scheduler-config": _configuration(case)},
    }
    yield from case["quotas"]
    for each in case["classes"]:
        policy = {"preemptionPolicy": "Never"} if each["never"] else {}
        metadata = {"name": each["name"]}
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": metadata,
            "value": each["value"],
            **policy,
        }
    joining = {event["name"] for event in case.get("events", ()) if event["what"] == "join"}
    yield from (_node(node) for node in case["nodes"] if node["name"] not in joining)


def _node(node: Mapping[str, Any]) -> Made:
    allocatable = node["allocatable"]
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node["name"], "labels": node["labels"]},
        "spec": {"unschedulable": node["unschedulable"]},
        "status": {"allocatable": allocatable, "capacity": allocatable, "conditions": ready},
    }


def _incidents(case: Mapping[str, Any]) -> Iterator[Incident]:
    nodes = {node["name"]: node for node in case["nodes"]}
    namespaces = {pod["name"]: pod["namespace"] for pod in case["pods"]}
    for event in case.get("events", ()):
        at, name = float(event["at"]), event["name"]
        match event["what"]:
            case "join":
                yield Incident(at, "made", makes=(_node(nodes[name]),))
            case "leave":
                yield Incident(at, "deleted", object=("Node", "", name))
            case "drain":
                yield Incident(at, "drains", node=name)
            case _:
                yield Incident(at, "deleted", object=("Pod", namespaces[name], name))

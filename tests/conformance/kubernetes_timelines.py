"""Recorded timelines of kube-scheduler, run on the simulated engine: see kubernetes_random/README.md."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apportion_runtime.engines.native.engine import Native
from apportion_runtime.engines.native.model import MODEL
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.format import Incident, Scenario, Timing, Work

Run = dict[str, Any]
START = 1_790_000_000.0


def simulated(case: Mapping[str, Any]) -> list[Run]:
    """Return the seconds in which a pod is bound or preempted, or a nomination changes, as they are recorded."""
    nominations: dict[int, dict[str, str]] = {}

    def engine(cluster_state: ClusterState) -> Native:
        return _Timeline(cluster_state, nominations)

    config = [{"metadata": {"name": "kube-scheduler"}, **case["config"]}] if case["config"] else []
    scenario = Scenario(
        works=tuple(map(_work, case["pods"])),
        incidents=tuple(map(_incident, case.get("events", ()))),
        timing=Timing(),
        start=START,
        until_s=float(case["until"]),
    )
    cluster = Cluster((*config, *case["objects"], *case["nodes"]), scenario, replace(MODEL, made_by=engine))
    history = cluster.run()
    bound: defaultdict[int, list[list[str]]] = defaultdict(list)
    for fact in history.facts:
        if fact.what == "bound":
            bound[round(fact.at_s)].append([fact.pod, fact.node])
    preempted: defaultdict[int, list[list[str]]] = defaultdict(list)
    names = [each["pod"]["metadata"]["name"] for each in case["pods"]]
    for taken in history.taken:
        preempted[round(taken.at_s)].append([taken.pod, names[taken.for_workload]])
    runs: list[Run] = []
    nominated: dict[str, str] = {}
    for at in sorted({*bound, *preempted, *nominations}):
        changed = nominations.get(at, nominated)
        if at in bound or at in preempted or changed != nominated:
            runs.append(
                {"at": at, "bound": sorted(bound[at]), "preempted": sorted(preempted[at]), "nominated": changed}
            )
        nominated = changed
    return runs


def difference(case: Mapping[str, Any]) -> str:
    """Return the first second in which the simulated engine differs from the recorded one; empty if none."""
    found, recorded = simulated(case), case["runs"]
    for i in range(max(len(found), len(recorded))):
        ours, theirs = (runs[i] if i < len(runs) else None for runs in (found, recorded))
        if ours != theirs:
            return f"case {case.get('name', case.get('seed'))}: {ours}, recorded {theirs}"
    return ""


def agrees(case: Mapping[str, Any]) -> bool:
    """Return whether the simulated engine decides as recorded."""
    return not difference(case)


def _work(entry: Mapping[str, Any]) -> Work:
    deleted = entry.get("deleted")
    return Work(
        entry["pod"],
        arrives_s=float(entry["at"]),
        work_s=entry["duration"],
        lifetime_s=None if deleted is None else float(deleted - entry["at"]),
    )


def _incident(event: Mapping[str, Any]) -> Incident:
    at_s = float(event["at"])
    if "made" in event:
        return Incident(at_s, "made", makes=(event["made"],))
    if event["what"] == "deleted":
        return Incident(at_s, "deleted", object=("Node", "", event["node"]))
    return Incident(at_s, event["what"], event["node"])


class _Timeline(Native):
    """The engine, which notes the nominations of pending pods after each cycle."""

    def __init__(self, cluster_state: ClusterState, nominations: dict[int, dict[str, str]]) -> None:
        super().__init__(cluster_state)
        self._nominations = nominations

    def run_cycle(self) -> None:
        super().run_cycle()
        cluster_state = self.cluster_state
        self._nominations[round(cluster_state.elapsed_s)] = {
            pod.name: node
            for uid, node in sorted(self._scheduler.nominated.items())
            if (pod := cluster_state.pods.get(uid)) is not None and not pod.is_bound
        }

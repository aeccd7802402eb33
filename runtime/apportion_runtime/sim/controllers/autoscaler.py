"""The controller of HorizontalPodAutoscalers: replicas follow the demand that a scenario gives a workload.

A demand is a total in the unit of the metric, shared by the ready replicas; a replica that is running but not ready
has none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion_runtime.admission.objects import kind_of, name_of, namespace_of, whole
from apportion_runtime.sim.api.cluster_state import ClusterState
from apportion_runtime.sim.api.events import AutoscaleDue
from apportion_runtime.sim.controllers.replica_recommendation import (
    SYNC_S,
    AutoscalerHistory,
    Behavior,
    limited,
    read_behavior,
    remember,
    replicas_by_average,
    replicas_by_total,
    replicas_by_value,
    stabilised,
)
from apportion_runtime.sim.controllers.running_workload import Running
from apportion_runtime.sim.controllers.workloads import Workloads
from apportion_runtime.sim.engine import reading
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.format import Manifest, Work
from apportion_runtime.snapshots.quantities import NANO, parse_quantity

KIND = "HorizontalPodAutoscaler"
_DEFAULT_NAMESPACE = "default"
_SCALED = ("Deployment", "ReplicaSet", "StatefulSet", "LeaderWorkerSet")
_MEASURED = ("cpu", "memory")
"""Resources in the metrics API, which has no devices."""


@dataclass(slots=True)
class _Autoscaler:
    made: Manifest
    behavior: Behavior
    target: tuple[str, str, str]
    """Kind, namespace and name of its target."""
    past: AutoscalerHistory = field(default_factory=AutoscalerHistory)
    said: str = ""


class _NoMetricError(ValueError):
    """A metric without a value."""


class Autoscalers:
    """The autoscalers of a cluster."""

    def __init__(self, cluster_state: ClusterState, workloads: Workloads) -> None:
        self._cluster_state = cluster_state
        self._workloads = workloads
        self._all = [_read(made) for made in cluster_state.store.list(KIND)]

    def begin(self) -> None:
        """Schedule the first evaluation of each, when its target arrives.

        Raises:
            ScenarioError: If no autoscaler targets a workload with a demand.
        """
        for work in self._workloads.works:
            if work.demand and not any(_is_target(scaler, work.manifest) for scaler in self._all):
                raise ScenarioError(f"{work.place}.demand: {_unfollowed(work.manifest)}")
        for number, scaler in enumerate(self._all):
            for at in self._arrivals(scaler):
                self._cluster_state.events.plan(at, AutoscaleDue(number))

    def _arrivals(self, scaler: _Autoscaler) -> list[float]:
        start = self._cluster_state.clock.start
        return [start + work.arrives_s for work in self._workloads.works if _is_target(scaler, work.manifest)]

    def _target(self, scaler: _Autoscaler) -> Running | None:
        return next((r for r in self._workloads.running.values() if _is_target(scaler, r.manifest)), None)

    def look(self, number: int) -> None:
        """Evaluate and scale the target of an autoscaler, and schedule the next evaluation while the target exists."""
        scaler = self._all[number]
        running = self._target(scaler)
        if running is not None:
            self._scale(scaler, running)
            self._cluster_state.events.plan(self._cluster_state.now + SYNC_S, AutoscaleDue(number))

    def _scale(self, scaler: _Autoscaler, running: Running) -> None:
        cluster_state, spec = self._cluster_state, scaler.made["spec"]
        current = 1 if (declared := whole(running.manifest, "spec", "replicas")) is None else declared
        least, most = int(spec.get("minReplicas") or 1), int(spec.get("maxReplicas") or 1)
        if current == 0:
            return
        why = ""
        if current > most or current < least:
            wanted = min(max(current, least), most)
            side = "above Spec.MaxReplicas" if current > most else "below Spec.MinReplicas"
            why = f"Current number of replicas {side}"
        else:
            found = self._wanted(scaler, running, current)
            if found is None:
                return
            wanted, metric = found
            why = f"{metric} above target" if wanted > current else "All metrics below target"
            wanted = stabilised(scaler.past, scaler.behavior, cluster_state.now, current, wanted)
            wanted = limited(
                scaler.past, scaler.behavior, cluster_state.now, current=current, wanted=wanted, bounds=(least, most)
            )
        if wanted != current:
            remember(scaler.past, cluster_state.now, current, wanted)
            cluster_state.note("autoscaled", workload=running.number, why=f"New size: {wanted}; reason: {why}")
            self._workloads.scale(running.number, wanted, "")

    def _wanted(self, scaler: _Autoscaler, running: Running, current: int) -> tuple[int, str] | None:
        """Return the highest recommendation of the metrics, and its metric; None if a missing metric prevents scaling."""
        found: list[tuple[int, str]] = []
        n_missing = 0
        for metric in scaler.made["spec"].get("metrics") or ():
            try:
                wanted = self._by_metric(metric, running, current, scaler.behavior)
            except _NoMetricError as none:
                n_missing += 1
                self._explain(scaler, running, str(none))
                continue
            if wanted is None:
                n_missing += 1
            else:
                found.append((wanted, _name(metric)))
        best = max(found, key=lambda each: each[0], default=None)
        return None if best is None or (n_missing and best[0] < current) else best

    def _by_metric(self, metric: Mapping[str, Any], running: Running, current: int, behavior: Behavior) -> int | None:
        kind = str(metric.get("type"))
        declared = metric.get(kind[0].lower() + kind[1:]) or {}
        target = declared.get("target") or {}
        work = running.work
        if kind in ("Resource", "ContainerResource") and declared.get("name") not in _MEASURED:
            name = declared.get("name")
            raise _NoMetricError(
                f"unable to get metrics for resource {name}: no metrics returned from resource metrics API"
            )
        if not work.demand:
            raise _NoMetricError(
                f"unable to get {_name(metric)}: the scenario defines no demand for {name_of(running.manifest)}"
            )
        pods = [self._cluster_state.pods[uid] for uid in running.pods.values()]
        total = demand_at(work, self._cluster_state.elapsed_s)
        n_ready = sum(pod.is_ready for pod in pods)
        if kind in ("External", "Object"):
            if "averageValue" in target:
                return replicas_by_total(total, _number(target["averageValue"]), current, behavior)
            return replicas_by_value(total, _number(target.get("value")), n_ready, current, behavior)
        share = total / n_ready if n_ready else 0.0
        if work.saturates is not None:
            share = min(share, work.saturates)
        is_cpu = kind in ("Resource", "ContainerResource") and declared.get("name") == "cpu"
        running_pods = [pod for pod in pods if pod.runs and (pod.is_ready or not is_cpu)]
        values = [share if pod.is_ready else 0.0 for pod in running_pods]
        wanted = target.get("averageUtilization")
        goal = _number(target.get("averageValue")) if wanted is None else float(wanted)
        return replicas_by_average(values, len(pods) - len(running_pods), goal, current, behavior)

    def _explain(self, scaler: _Autoscaler, running: Running, why: str) -> None:
        if scaler.said != why:
            scaler.said = why
            self._cluster_state.note("autoscaler-blind", workload=running.number, why=why)


def _read(made: Manifest) -> _Autoscaler:
    with reading(f"{KIND} {namespace_of(made)}/{name_of(made)}"):
        spec = made["spec"]
        for key in ("minReplicas", "maxReplicas"):
            int(spec.get(key) or 1)
        for metric in spec.get("metrics") or ():
            _name(metric)
        reference = spec["scaleTargetRef"]
        target = str(reference["kind"]), namespace_of(made) or _DEFAULT_NAMESPACE, str(reference["name"])
        return _Autoscaler(made, read_behavior(spec.get("behavior")), target)


def _unfollowed(made: Manifest) -> str:
    kind, name = kind_of(made)[1], name_of(made)
    if kind in _SCALED:
        return f"no HorizontalPodAutoscaler targets {kind} {name}: add one to `objects`, or set `load`"
    return f"a {kind} cannot scale with demand: set `load`, the number of replicas over time"


def demand_at(work: Work, elapsed_s: float) -> float:
    """Return the demand on a workload at a time: the latest value set."""
    total = 0.0
    for step in work.demand:
        if step.at_s <= elapsed_s:
            total = step.total
    return total


def _is_target(scaler: _Autoscaler, made: Manifest) -> bool:
    return scaler.target == (kind_of(made)[1], namespace_of(made) or _DEFAULT_NAMESPACE, name_of(made))


def _name(metric: Mapping[str, Any]) -> str:
    kind = str(metric.get("type"))
    declared = metric.get(kind[0].lower() + kind[1:]) or {}
    name = (declared.get("metric") or {}).get("name") or declared.get("name") or ""
    if kind in ("Resource", "ContainerResource"):
        return f"{name} resource utilization (percentage of request)"
    return f"{kind.lower()} metric {name}"


def _number(written: Any) -> float:
    value = parse_quantity(written if written is not None else 0) / NANO
    if value <= 0:
        raise _NoMetricError("the metric's target must be greater than 0")
    return value

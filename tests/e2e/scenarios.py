"""Scenarios of the examples on a real API server: their nodes and workloads, and what the simulation runs at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import click
import yaml

from apportion_api.kai.names import GPU_FRACTION_ANNOTATION
from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_cli.machine_labels import with_flavor_labels
from apportion_cli.outcomes import Outcome, run
from apportion_cli.scenario_objects import ScenarioObjects, read_objects
from apportion_runtime.sim.kubelet.nodes import node_manifest, node_name
from apportion_runtime.sim.scenario.format import Scenario
from apportion_runtime.sim.scenario.reader import read_scenario

from .kubectl import Kubectl, Object

_AS_OF = date(2026, 1, 1)
RAY_CLUSTER_LABEL = "ray.io/cluster"

Placed = Counter[tuple[str, str, float]]
"""The number of pods of a workload on a node, each with this number of GPUs."""


@dataclass(frozen=True, slots=True)
class LiveScenario:
    """A scenario, and its simulation."""

    scenario: Scenario
    outcome: Outcome

    def nodes(self) -> Iterator[Object]:
        """Yield the initial nodes, with the names of the simulated ones."""
        for pool in self.scenario.pools:
            for number in range(pool.size):
                yield node_manifest(pool, node_name(pool, number))

    def workload(self, name: str) -> Object:
        """Return a workload with the fields that the API server requires, and that a simulation does not."""
        (found,) = (one.manifest for one in self.scenario.works if one.manifest["metadata"]["name"] == name)
        return completed(found)

    def simulated(self, at_s: float) -> Placed:
        """Return the pods that run at a time of the simulation."""
        workloads = self.outcome.report.workloads
        return Counter(
            (self._of_scenario(workloads[stay.workload].name) or "", stay.node, stay.gpus)
            for stay in self.outcome.history.stays
            if stay.since_s <= at_s < stay.until_s
        )

    def running(self, kubectl: Kubectl, *namespaces: str) -> Placed:
        """Return the pods of the scenario that run on the API server's nodes."""
        return Counter(
            (name, pod["spec"]["nodeName"], _gpus(pod))
            for pod in running_pods(kubectl, *namespaces)
            if (name := self.workload_of(pod)) is not None
        )

    def workload_of(self, pod: Mapping[str, Any]) -> str | None:
        """Return the workload of a pod: the longest name with which that of the pod, or of its RayCluster, begins."""
        return self._of_scenario(pod["metadata"].get("labels", {}).get(RAY_CLUSTER_LABEL, pod["metadata"]["name"]))

    def outcomes(self) -> dict[str, str]:
        """Return how each workload of the scenario ended in the simulation: `unfinished` if it did not."""
        known = {one.manifest["metadata"]["name"] for one in self.scenario.works}
        return {one.name: one.outcome for one in self.outcome.report.workloads if one.name in known}

    def _of_scenario(self, name: str) -> str | None:
        known = (one.manifest["metadata"]["name"] for one in self.scenario.works)
        return max((one for one in known if name == one or name.startswith(f"{one}-")), key=len, default=None)


def live_scenario(example: Path, *, engine: str, env: str) -> LiveScenario:
    """Read an example's scenario, and simulate it on the cluster of an environment."""
    file = example / "scenario.yaml"
    with click.Context(click.Command("simulate")):
        objects = read_objects(str(example), env=env, cluster=None, engine=engine, as_of=_AS_OF, fail_on="error")
    assert isinstance(objects, ScenarioObjects)

    def read(name: str) -> list[Object]:
        return [one for one in yaml.safe_load_all((example / name).read_text()) if one]

    read_from = read_scenario(file.read_text(), read, objects.model.workload_labels, objects.nodes)
    scenario = with_flavor_labels(read_from, objects.objects)
    outcome = run(str(example), str(file), env=env, engine=engine, as_of=_AS_OF)
    return LiveScenario(scenario, outcome)


def by_gpus(placed: Placed) -> Counter[tuple[str, float]]:
    """Return the number of pods of each workload by their GPUs."""
    counts: Counter[tuple[str, float]] = Counter()
    for (name, _, gpus), count in placed.items():
        counts[name, gpus] += count
    return counts


def running_pods(kubectl: Kubectl, *namespaces: str) -> list[dict[str, Any]]:
    """Return the pods that run and do not terminate."""
    found = (one for name in namespaces for one in kubectl.get("pods", f"--namespace={name}")["items"])
    return [one for one in found if one["status"]["phase"] == "Running" and "deletionTimestamp" not in one["metadata"]]


def completed(workload: Object) -> Object:
    """Return a workload with images, restart policies, selectors and start parameters where they are missing."""
    kind, spec = workload["kind"], workload.get("spec", {})
    match kind:
        case "Pod":
            return _with_image(workload)
        case "Job":
            return {**workload, "spec": {**spec, "template": _with_image(spec["template"], restartPolicy="Never")}}
        case "CronJob":
            job = {**spec["jobTemplate"]["spec"], "template": _with_image(spec["jobTemplate"]["spec"]["template"])}
            return {**workload, "spec": {**spec, "jobTemplate": {**spec["jobTemplate"], "spec": job}}}
        case "Deployment":
            app = {"app": workload["metadata"]["name"]}
            template = _with_image(spec["template"])
            labels = {**app, **template.get("metadata", {}).get("labels", {})}
            template = {**template, "metadata": {**template.get("metadata", {}), "labels": labels}}
            return {**workload, "spec": {"selector": {"matchLabels": app}, **spec, "template": template}}
        case "RayCluster":
            groups = [_ray_group(group) for group in spec["workerGroupSpecs"]]
            return {
                **workload,
                "spec": {**spec, "headGroupSpec": _ray_group(spec["headGroupSpec"]), "workerGroupSpecs": groups},
            }
    return workload


def _ray_group(group: Mapping[str, Any]) -> dict[str, Any]:
    return {"rayStartParams": {}, **group, "template": _with_image(group["template"])}


def _with_image(template: Mapping[str, Any], **fields: str) -> dict[str, Any]:
    containers = [{"image": "none", **container} for container in template["spec"]["containers"]]
    return {**template, "spec": {**fields, **template["spec"], "containers": containers}}


def _gpus(pod: Mapping[str, Any]) -> float:
    fraction = pod["metadata"].get("annotations", {}).get(GPU_FRACTION_ANNOTATION)
    if fraction is not None:
        return float(fraction)
    requests = (container.get("resources", {}).get("requests", {}) for container in pod["spec"]["containers"])
    return float(sum(int(amounts.get(GPU_RESOURCE, 0)) for amounts in requests))

"""Services that scale with their requests, gangs between their minimum and maximum, and shared devices."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.controllers.serve_autoscaler import Autoscaling, autoscaling_of, scalings_of
from apportion_runtime.sim.history import History
from apportion_runtime.sim.invariants import broken
from apportion_runtime.sim.scenario.fields import ScenarioError
from apportion_runtime.sim.scenario.format import Demand
from apportion_runtime.sim.scenario.reader import read_scenario

_FREE = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
QUEUE: dict[str, Any] = {
    "apiVersion": "scheduling.run.ai/v2",
    "kind": "Queue",
    "metadata": {"name": "a"},
    "spec": {"resources": dict.fromkeys(("cpu", "memory", "gpu"), _FREE)},
}
NODES = "nodes: [{pool: gpu, count: 1, gpus: 4, gpu_memory: 80000, cpu: 32, memory: 128Gi}]\n"


def run(text: str) -> tuple[History, Cluster]:
    """Run a scenario, and hold every event to the invariants."""
    cluster = Cluster((QUEUE,), read_scenario(NODES + text, lambda name: []))
    while cluster.step():
        assert broken(cluster.cluster_state, cluster.workloads.running) == []
    return cluster.finish(), cluster


def _moments(history: History, what: str) -> list[float]:
    return [fact.at_s for fact in history.facts if fact.what == what]


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        ([(0, 4), (100, 25), (1000, 4)], [(130.0, 3), (1600.0, 1)]),
        ([(0, 4), (100, 25), (120, 4)], []),
        ([(0, 4), (100, 15), (110, 25)], [(130.0, 3)]),
        ([(0, 400)], [(30.0, 4)]),
        ([(0, 0)], []),
    ],
    ids=["up and down", "too short", "the latest counts", "at most", "at least"],
)
def test_scaling_delays(demand: list[tuple[float, float]], expected: list[tuple[float, int]]) -> None:
    found = scalings_of([Demand(at, total) for at, total in demand], Autoscaling(10, 1, 4))
    assert [(scaling.at_s, scaling.replicas) for scaling in found] == expected


def test_ray_service_scales_between_its_bounds() -> None:
    """Three workers for 25 requests; one again when it was quiet for ten minutes."""
    history, _ = run(
        """
workloads:
  - {name: serve, kind: RayService, queue: a, priority: train, pods: 3, min: 1, gpus: 1, head: {cpu: 1},
     lifetime: 2h, target_ongoing_requests: 10, demand: [{at: 0, total: 25}, {at: 30m, total: 4}]}
"""
    )
    assert _moments(history, "scaled") == [30.0, 2400.0]
    assert _moments(history, "gone")[:2] == [2430.0, 2430.0]


@pytest.mark.parametrize("said", ["kind: Job, demand: [{at: 0, total: 1}]", "kind: RayService"])
def test_requests_require_a_ray_service_with_demand(said: str) -> None:
    with pytest.raises(ScenarioError, match="valid only for a RayService with `demand`"):
        run("until: 1h\nworkloads: [{name: s, queue: a, target_ongoing_requests: 1, " + said + "}]")


_SERVE = """
applications:
- name: llms
  args:
    llm_configs:
    - model_loading_config: {model_id: qwen}
      deployment_config: {autoscaling_config: {%s}, max_ongoing_requests: 128}
"""


def _service(config: str, *, least: int = 1, most: int = 4) -> dict[str, Any]:
    group = {"groupName": "gpu", "replicas": 1, "minReplicas": least, "maxReplicas": most}
    spec = {"serveConfigV2": config, "rayClusterConfig": {"workerGroupSpecs": [group]}}
    return {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "s"}, "spec": spec}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("min_replicas: 1, max_replicas: 3, target_ongoing_requests: 64", Autoscaling(64, 1, 3)),
        ("min_replicas: 2, max_replicas: 9, upscale_delay_s: 5", Autoscaling(2, 2, 4, upscale_delay_s=5)),
        ("max_replicas: 1, upscaling_factor: 1.0, look_back_period_s: 30", Autoscaling(2, 1, 1)),
    ],
)
def test_autoscaling_configuration_is_read(config: str, expected: Autoscaling) -> None:
    assert autoscaling_of(_service(_SERVE % config), None) == expected


def test_automatic_replicas_have_the_bounds_of_ray() -> None:
    config = "applications: [{name: a, deployments: [{name: d, num_replicas: auto}]}]"
    assert autoscaling_of(_service(config, most=200), None) == Autoscaling(2, 1, 100)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("applications: []", "has no autoscaling_config: set `target_ongoing_requests`, or `load`"),
        (_SERVE % "upscaling_factor: 2", "upscaling_factor of autoscaling_config is not simulated"),
        (_SERVE % "max_replicas: x", "the fields of autoscaling_config must be numbers"),
        (_SERVE % "min_replicas: 9, max_replicas: 9", "min_replicas 9, max_replicas 4"),
        ("{", "invalid YAML in serveConfigV2: while"),
        (
            "a: [{autoscaling_config: {}}, {autoscaling_config: {}}]",
            "2 deployments in serveConfigV2 have an autoscaling_config",
        ),
    ],
)
def test_unsupported_configuration_is_refused(config: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        autoscaling_of(_service(config), None)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("RayCluster", r"workloads\[0\].demand: a RayCluster cannot scale with demand: set `load`"),
        ("Deployment", r"workloads\[0\].demand: no HorizontalPodAutoscaler targets Deployment w"),
    ],
)
def test_demand_without_autoscaling_is_refused(kind: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        run(f"until: 1h\nworkloads: [{{name: w, kind: {kind}, queue: a, gpus: 1, demand: [{{at: 0, total: 5}}]}}]")


def test_gpu_sharing_respects_memory() -> None:
    """Two of 30,000 MiB fit on a device of 80,000, a third does not: nine pods need more than four devices."""
    history, _ = run("workloads: [{name: s, kind: Pod, count: 9, queue: a, gpu_memory: 30000, duration: 1h}]")
    bound = _moments(history, "bound")
    assert bound[:8] == [0.0] * 8
    assert bound[8:] == [pytest.approx(3602.0, abs=60)]


def test_loading_time_is_repeated_after_a_restart() -> None:
    """Ten minutes of loading, twenty of work, a checkpoint each five: a node fails after eighteen."""
    history, _ = run(
        """
workloads: [{name: t, kind: Job, queue: a, gpus: 1, startup: 10m, duration: 20m, checkpoint: 5m}]
events: [{at: 18m, node: gpu-0000, what: fails}, {at: 30m, node: gpu-0000, what: joins}]
"""
    )
    facts = history.workloads[0]
    # What was done between the checkpoint at 15 min and the failure is lost; 10 min of loading and 15 of work follow.
    assert facts.lost_gpu_s == pytest.approx(180, abs=5)
    assert facts.finished_s == pytest.approx(30 * 60 + 10 * 60 + 15 * 60, abs=10)

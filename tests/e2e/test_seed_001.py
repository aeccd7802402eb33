"""Seed 001 live: vLLM on Ray preempts a Ray cluster that trains, as in the simulation of the example's scenario.

KubeRay's operator makes the pods, and KWOK runs them. The test takes the part of Ray's autoscaler.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .compiled_trees import REPOSITORY
from .conftest import KUBERAY, KWOK, binaries
from .control_plane import ControlPlane
from .kubectl import Kubectl, Object
from .kuberay_operator import kuberay
from .kwok_nodes import kwok
from .live_scheduler import scheduler, until
from .scenarios import RAY_CLUSTER_LABEL, LiveScenario, by_gpus, live_scenario, running_pods
from .seed_cluster import installed_classes, seed_cluster, submit_bound
from .workloads import pod

pytestmark = pytest.mark.e2e

EXAMPLE = REPOSITORY / "examples" / "seed-001-kai-vllm"
CLUSTER = ("demo", "ray")
TEAM = "team-a"
TRAINING, SERVICE = "raycluster-sample", "ray-kai-scheduler-serve-llm"


@pytest.fixture
def live() -> LiveScenario:
    return live_scenario(EXAMPLE, engine="kai", env="demo")


@pytest.fixture
def cluster(plane: ControlPlane, live: LiveScenario, tmp_path: Path) -> Iterator[Kubectl]:
    """The example's cluster with KubeRay, as its platform team."""
    refused = (pod(TEAM, scheduler="kai-scheduler"),)
    with (
        kwok(plane.kubectl, binaries(KWOK)),
        kuberay(plane, binaries(KUBERAY)),
        installed_classes(plane.kubectl),
        seed_cluster(plane.kubectl, EXAMPLE, CLUSTER, live, tmp_path / "rendered", refused),
    ):
        yield plane.kubectl


def _scale(kubectl: Kubectl, replicas: int, *deleted: str) -> None:
    """Change the number of replicas of the service's Ray cluster, as Ray's autoscaler does."""
    (found,) = (one for one in _ray_clusters(kubectl) if one["metadata"]["name"].startswith(SERVICE))
    path = "/spec/workerGroupSpecs/0"
    patch = [
        {"op": "replace", "path": f"{path}/replicas", "value": replicas},
        {"op": "add", "path": f"{path}/scaleStrategy", "value": {"workersToDelete": list(deleted)}},
    ]
    name = found["metadata"]["name"]
    kubectl.must("patch", "rayclusters.ray.io", name, f"--namespace={TEAM}", "--type=json", "-p", json.dumps(patch))


def _ray_clusters(kubectl: Kubectl) -> list[Object]:
    return list(kubectl.get("rayclusters.ray.io", f"--namespace={TEAM}")["items"])


def _workers(kubectl: Kubectl) -> list[str]:
    """Return the running workers of the service, the newest last."""
    found = (
        one
        for one in running_pods(kubectl, TEAM)
        if one["metadata"]["labels"][RAY_CLUSTER_LABEL].startswith(SERVICE)
        and one["metadata"]["labels"]["ray.io/node-type"] == "worker"
    )
    return [one["metadata"]["name"] for one in sorted(found, key=lambda one: str(one["status"]["startTime"]))]


def test_seed_001_runs_as_simulated(cluster: Kubectl, access: Path, live: LiveScenario, tmp_path: Path) -> None:
    log = tmp_path / "scheduler.log"
    member = cluster.as_user("vera", "@acme/platform")

    def runs_as_at(hours: float) -> None:
        wanted = by_gpus(live.simulated(hours * 3600))
        until(lambda: by_gpus(live.running(cluster, TEAM)), lambda found: found == wanted, log)

    with scheduler(access, log):
        submit_bound(member, EXAMPLE, CLUSTER, TEAM, live.workload(TRAINING), tmp_path)
        runs_as_at(0.9)
        submit_bound(member, EXAMPLE, CLUSTER, TEAM, live.workload(SERVICE), tmp_path)
        runs_as_at(1.9)
        _scale(cluster, 2)
        runs_as_at(3.4)
        _scale(cluster, 1, _workers(cluster)[-1])
        runs_as_at(4.9)
        member.must("delete", "rayservices.ray.io", SERVICE, f"--namespace={TEAM}")
        runs_as_at(5.4)
        member.must("delete", "rayclusters.ray.io", TRAINING, f"--namespace={TEAM}")
        runs_as_at(6.0)
    assert "forbidden" not in log.read_text()

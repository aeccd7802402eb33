"""Seed 004 live: plain Kubernetes with quotas, zones and a priority class, as in the simulation of the example's scenario.

kube-scheduler runs with the compiled profile, the Job and Deployment controllers make the pods, and KWOK runs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_api.kubernetes.names import ZONE_LABEL

from .compiled_trees import REPOSITORY
from .conftest import BINARIES, KWOK, binaries
from .control_plane import ControlPlane
from .kube_scheduler import kube_scheduler
from .kubectl import Kubectl
from .kwok_nodes import complete, kwok
from .live_scheduler import until
from .namespaces import delete_with_empty_namespaces, namespace
from .scenarios import LiveScenario, Placed, by_gpus, live_scenario, running_pods
from .seed_cluster import empty, seed_cluster
from .workloads import pod

pytestmark = pytest.mark.e2e

EXAMPLE = REPOSITORY / "examples" / "seed-004-ai-scheduling"
CLUSTER = ("plain", "kubernetes")
TEAM, LAB = "ai", "lab"
FRONTEND = "ai-frontend"
"""One of its pods stays pending: a zone that its pods cannot use counts as empty."""
SPREAD = (FRONTEND, "ai-workload")


@pytest.fixture
def live() -> LiveScenario:
    return live_scenario(EXAMPLE, engine="native", env="plain")


@pytest.fixture
def cluster(plane: ControlPlane, live: LiveScenario, tmp_path: Path) -> Iterator[Kubectl]:
    rendered = tmp_path / "rendered"
    refused = (pod(TEAM, scheduler=None, node="node-1"),)
    with (
        kwok(plane.kubectl, binaries(KWOK)),
        seed_cluster(plane.kubectl, EXAMPLE, CLUSTER, live, rendered, refused),
    ):
        kubectl = plane.kubectl
        kubectl.must("create", "namespace", LAB)
        try:
            kubectl.must("wait", "--for=create", "serviceaccount/default", f"--namespace={LAB}", "--timeout=100s")
            profile = rendered / "plain/kubernetes/native/kube-scheduler.yaml"
            with kube_scheduler(kubectl, binaries(BINARIES), yaml.safe_load(profile.read_text())):
                yield kubectl
        finally:
            empty(kubectl, LAB)
            delete_with_empty_namespaces(kubectl, [namespace(LAB)])


def test_seed_004_runs_as_simulated(cluster: Kubectl, live: LiveScenario) -> None:
    member = cluster.as_user("ida", "@acme/ai")

    def submit(name: str) -> None:
        work = live.workload(name)
        answer = (member if work["metadata"]["namespace"] == TEAM else cluster).create(work)
        assert answer.accepted, answer.said

    def runs_as_at(hours: float) -> None:
        simulated = live.simulated(hours * 3600)
        wanted = by_gpus(simulated)
        until(lambda: by_gpus(live.running(cluster, TEAM, LAB)), lambda found: found == wanted)
        assert _spread(live, live.running(cluster, TEAM)) == _spread(live, simulated)

    for name in (*SPREAD, "gpu-pod", "notebooks"):
        submit(name)
    runs_as_at(0.1)
    (waiting,) = (one for one in _pods(cluster) if "nodeName" not in one["spec"])
    assert waiting["metadata"]["name"].startswith(FRONTEND)
    assert "didn't match pod topology spread constraints" in _message(waiting)
    # The quota admits six of ten pods; the Job controller creates the others as soon as it has room.
    submit("sweep")
    runs_as_at(0.3)
    refusals = [
        one["message"]
        for one in cluster.get("events", f"--namespace={TEAM}")["items"]
        if one["reason"] == "FailedCreate"
    ]
    assert any("exceeded quota: apportion" in said and "used: requests.nvidia.com/gpu=8" in said for said in refusals)
    complete(cluster, (one for one in running_pods(cluster, TEAM) if live.workload_of(one) == "sweep"))
    runs_as_at(1.0)
    complete(cluster, (one for one in running_pods(cluster, TEAM) if live.workload_of(one) == "sweep"))
    submit("late")
    runs_as_at(3.1)
    # The class preempts pods without one.
    submit("training")
    runs_as_at(3.6)


def _pods(cluster: Kubectl) -> list[dict[str, Any]]:
    return [one for name in (TEAM, LAB) for one in cluster.get("pods", f"--namespace={name}")["items"]]


def _message(waiting: dict[str, Any]) -> str:
    conditions = waiting["status"].get("conditions", ())
    return next((str(one.get("message")) for one in conditions if one["type"] == "PodScheduled"), "")


def _spread(live: LiveScenario, placed: Placed) -> Counter[tuple[str, str]]:
    """Return the number of pods in each zone of the workloads that are spread."""
    zones = {one["metadata"]["name"]: one["metadata"]["labels"][ZONE_LABEL] for one in live.nodes()}
    counts: Counter[tuple[str, str]] = Counter()
    for (name, node, _), count in placed.items():
        if name in SPREAD:
            counts[name, zones[node]] += count
    return counts

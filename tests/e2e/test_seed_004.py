"""Seed 004 live: plain Kubernetes with quotas, zones and a priority class, as in the simulation of the example's scenario.

kube-scheduler runs with the compiled profile, the Job and Deployment controllers make the pods, and KWOK runs them. The
test takes the part of the CronJob controller, whose clock cannot be moved, and of the autoscaler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_api.kubernetes.names import ZONE_LABEL

from .admission import condition
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
NIGHTLY = "daily-training"
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

    def finish(name: str, number: int | None = None) -> None:
        """Let this number of pods of a workload succeed, or all."""
        found = [one for one in running_pods(cluster, TEAM, LAB) if live.workload_of(one) == name]
        complete(cluster, found[:number])

    def start_nightly(name: str) -> None:
        cluster.must("create", "job", name, f"--from=cronjob/{NIGHTLY}", f"--namespace={TEAM}")

    def scale(replicas: int) -> None:
        cluster.must("scale", "deployment", "serving", f"--replicas={replicas}", f"--namespace={TEAM}")

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
    finish("sweep")
    runs_as_at(1.0)
    finish("sweep")
    runs_as_at(1.9)
    suspended = {**live.workload(NIGHTLY)["spec"], "suspend": True}
    assert member.create({**live.workload(NIGHTLY), "spec": suspended}).accepted
    start_nightly("daily-training-1")
    runs_as_at(2.1)
    finish(NIGHTLY)
    submit("late")
    runs_as_at(3.1)
    # The class preempts pods without one.
    submit("training")
    runs_as_at(3.6)
    finish("gpu-pod")
    finish("training")
    finish("late", 4)
    # The replacements of the evicted pods start.
    runs_as_at(5.5)
    finish("late")
    runs_as_at(7.0)
    submit("serving")
    runs_as_at(8.2)
    scale(5)
    runs_as_at(9.2)
    scale(2)
    runs_as_at(12.2)
    finish("notebooks", 6)
    runs_as_at(25.0)
    start_nightly("daily-training-2")
    runs_as_at(26.2)
    finish(NIGHTLY)
    runs_as_at(27.0)
    member.must("delete", "deployment", "serving", f"--namespace={TEAM}")
    finish("notebooks")
    runs_as_at(29.9)
    until(lambda: _succeeded(cluster), lambda found: found == _succeeded_in_simulation(live))


def _succeeded(cluster: Kubectl) -> set[str]:
    """Return the jobs that are complete, and the pods that have succeeded without one."""
    jobs = [one for name in (TEAM, LAB) for one in cluster.get("jobs", f"--namespace={name}")["items"]]
    complete_jobs = {str(one["metadata"]["name"]) for one in jobs if condition(one, "Complete").get("status") == "True"}
    alone = [one for one in _pods(cluster) if "ownerReferences" not in one["metadata"]]
    return complete_jobs | {one["metadata"]["name"] for one in alone if one["status"]["phase"] == "Succeeded"}


def _succeeded_in_simulation(live: LiveScenario) -> set[str]:
    return {one.name for one in live.outcome.report.workloads if one.outcome == "succeeded"}


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

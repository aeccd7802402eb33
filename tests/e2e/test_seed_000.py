"""Seed 000 live: Ray with shared GPUs, a notebook and inference, as in the simulation of the example's scenario.

KubeRay's operator makes the pods of Ray clusters, the Deployment controller those of `chat`, and KWOK runs them. Two parts
of KAI are stand-ins: the admission webhook, and the process in reservation pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .compiled_trees import REPOSITORY
from .conftest import KUBERAY, KWOK, binaries
from .control_plane import ControlPlane
from .gpu_sharing_webhook import WEBHOOK, prepared_if_sharing
from .kubectl import Kubectl
from .kuberay_operator import kuberay
from .kwok_nodes import complete, kwok
from .live_scheduler import SHARING, packaged_account, scheduler, sharing_configuration, until
from .pod_webhook import pod_webhook
from .reservation_agent import ReservationAgent, reservation_agent
from .scenarios import LiveScenario, by_gpus, live_scenario, running_pods
from .seed_cluster import installed_classes, seed_cluster, submit_bound
from .workloads import pod

pytestmark = pytest.mark.e2e

EXAMPLE = REPOSITORY / "examples" / "seed-000-kai-ray"
CLUSTER = ("demo", "ray")
TEAM = "team-a"
GANG, NOTEBOOK, CHAT, UNQUEUED = "raycluster-half-gpu", "notebook", "chat", "raycluster-no-queue"
GROUP = "runai-gpu-group"


@pytest.fixture
def live() -> LiveScenario:
    return live_scenario(EXAMPLE, engine="kai", env="demo")


@pytest.fixture
def agent(plane: ControlPlane) -> Iterator[ReservationAgent]:
    with reservation_agent(plane.kubectl) as made:
        made.reports.set()
        yield made


@pytest.fixture
def cluster(plane: ControlPlane, live: LiveScenario, tmp_path: Path) -> Iterator[Kubectl]:
    refused = (pod(TEAM, scheduler="kai-scheduler"),)
    with (
        kwok(plane.kubectl, binaries(KWOK)),
        kuberay(plane, binaries(KUBERAY)),
        installed_classes(plane.kubectl),
        pod_webhook(plane.kubectl, plane.generate_cert, WEBHOOK, TEAM, prepared_if_sharing),
        seed_cluster(plane.kubectl, EXAMPLE, CLUSTER, live, tmp_path / "rendered", refused),
    ):
        yield plane.kubectl


@pytest.fixture
def access(plane: ControlPlane, kubectl: Kubectl, agent: ReservationAgent) -> Iterator[Path]:
    """The kubeconfig of the packaged service account, which may share GPUs."""
    with packaged_account(plane, kubectl, SHARING) as made:
        yield made


def test_seed_000_runs_as_simulated(
    cluster: Kubectl, access: Path, agent: ReservationAgent, live: LiveScenario, tmp_path: Path
) -> None:
    log = tmp_path / "scheduler.log"
    member = cluster.as_user("vera", "@acme/platform")

    def runs_as_at(minutes: float) -> None:
        wanted = by_gpus(live.simulated(minutes * 60))
        until(lambda: by_gpus(live.running(cluster, TEAM)), lambda found: found == wanted, log)
        devices = _simulated_devices(live, minutes * 60)
        until(lambda: _devices(live, cluster), lambda found: found == devices, log)
        until(lambda: len(agent.pods()), lambda found: found == sum(devices.values()), log)

    def submit(name: str) -> None:
        submit_bound(member, EXAMPLE, CLUSTER, TEAM, live.workload(name), tmp_path)

    with scheduler(access, log, sharing_configuration(tmp_path, timeout_s=60)):
        submit(GANG)
        runs_as_at(4)
        submit(NOTEBOOK)
        runs_as_at(9)
        # The example's objects refuse what the simulation leaves pending.
        unqueued = member.create(live.workload(UNQUEUED))
        assert not unqueued.accepted
        assert "kai.scheduler/queue" in unqueued.said
        submit(CHAT)
        runs_as_at(35)
        member.must("delete", "deployment", CHAT, f"--namespace={TEAM}")
        runs_as_at(92)
        complete(cluster, (one for one in running_pods(cluster, TEAM) if live.workload_of(one) == NOTEBOOK))
        runs_as_at(100)
        member.must("delete", "rayclusters.ray.io", GANG, f"--namespace={TEAM}")
        runs_as_at(200)
    assert "forbidden" not in log.read_text()


def _shared(holders: Iterator[tuple[str, str]]) -> Counter[tuple[str, ...]]:
    """Return the number of shared devices by the workloads of the pods that share them."""
    devices: dict[str, list[str]] = {}
    for device, workload in holders:
        devices.setdefault(device, []).append(workload)
    return Counter(tuple(sorted(names)) for names in devices.values())


def _simulated_devices(live: LiveScenario, at_s: float) -> Counter[tuple[str, ...]]:
    workloads = live.outcome.report.workloads
    return _shared(
        (f"{stay.node} {device}", workloads[stay.workload].name)
        for stay in live.outcome.history.stays
        if stay.since_s <= at_s < stay.until_s
        for device in stay.devices
    )


def _devices(live: LiveScenario, cluster: Kubectl) -> Counter[tuple[str, ...]]:
    return _shared(
        (one["metadata"]["labels"][GROUP], live.workload_of(one) or "")
        for one in running_pods(cluster, TEAM)
        if GROUP in one["metadata"]["labels"]
    )

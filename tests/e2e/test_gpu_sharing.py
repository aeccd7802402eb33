"""Seed 000 with shared GPUs on the live scheduler: a Ray cluster with half GPUs, and single pods beside it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apportion_compiler.packaged_scheduler import scheduler_objects

from .access_audit import permissions, requests, size
from .control_plane import AUDIT_LOG, ControlPlane
from .gpu_sharing_webhook import prepared
from .kubectl import Kubectl, Object
from .live_scheduler import (
    ACCOUNT,
    NAMESPACE,
    PACKAGED,
    SHARING,
    add_node,
    bound,
    events,
    packaged_account,
    pending_reason,
    pod,
    pods,
    queue,
    scheduler,
    sharing_configuration,
    until,
)
from .reservation_agent import ReservationAgent, reservation_agent

pytestmark = pytest.mark.e2e

SEED_QUEUES = (queue("department-1", None, -1, -1), queue("team-a", "department-1", -1, -1))
URGENT = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "inference"},
    "value": 125,
}
RAY = "raycluster-half-gpu"
WORKERS = "shared-gpu"
GROUP = "runai-gpu-group"


@pytest.fixture
def cluster(cluster: Kubectl) -> Iterator[Kubectl]:
    """The cluster with the queues of the seed, a priority class and a second node."""
    made: list[Object] = [*SEED_QUEUES, URGENT]
    try:
        assert cluster.create(*made).accepted
        made.append(add_node(cluster, "sched-2"))
        yield cluster
    finally:
        cluster.delete_objects(made)


@pytest.fixture
def agent(kubectl: Kubectl) -> Iterator[ReservationAgent]:
    with reservation_agent(kubectl) as made:
        yield made


@pytest.fixture
def access(plane: ControlPlane, kubectl: Kubectl, agent: ReservationAgent) -> Iterator[Path]:
    """The kubeconfig of the packaged service account, which may share GPUs."""
    with packaged_account(plane, kubectl, SHARING) as made:
        yield made


def _sharing(name: str, fraction: str = "0.5", **annotations: str) -> dict[str, Any]:
    """Return a pod as KAI's admission webhook changes it."""
    made = pod(name, "team-a", 0)
    made["metadata"]["annotations"] = {"gpu-fraction": fraction, **annotations}
    (container,) = made["spec"]["containers"]
    container["resources"] = {}
    return prepared(made, f"{name}-abcdefg-shared-gpu")


def _ray_cluster(kubectl: Kubectl) -> list[Object]:
    """Create the Ray cluster of the seed, and return the pods that KubeRay creates for it: 1 GPU and four halves."""
    container = {"name": "ray", "image": "none"}
    worker = {
        "groupName": WORKERS,
        "replicas": 4,
        "minReplicas": 4,
        "maxReplicas": 4,
        "rayStartParams": {},
        "template": {"spec": {"containers": [container]}},
    }
    made = {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": RAY, "namespace": NAMESPACE, "labels": {"kai.scheduler/queue": "team-a"}},
        "spec": {
            "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [container]}}},
            "workerGroupSpecs": [worker],
        },
    }
    answer = kubectl.create(made)
    assert answer.accepted, answer.said
    uid = kubectl.get("rayclusters.ray.io", RAY, f"--namespace={NAMESPACE}")["metadata"]["uid"]
    owner = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": RAY, "uid": uid, "controller": True}
    members = [(pod(f"{RAY}-head", "team-a", 1), "headgroup", "head")]
    members += [(_sharing(f"{RAY}-worker-{n}"), WORKERS, "worker") for n in range(4)]
    for member, group, role in members:
        member["metadata"]["ownerReferences"] = [owner]
        member["metadata"]["labels"] |= {"ray.io/cluster": RAY, "ray.io/group": group, "ray.io/node-type": role}
    return [member for member, _, _ in members]


def _usage(cluster: Kubectl, agent: ReservationAgent) -> dict[str, float]:
    """Return the portion of each device that pods use, from their ConfigMaps; it agrees with labels and nodes."""
    devices = agent.devices()
    used: dict[str, float] = defaultdict(float)
    for name, one in pods(cluster).items():
        if not one["spec"].get("nodeName") or "gpu-fraction" not in one["metadata"]["annotations"]:
            continue
        labels, annotations = one["metadata"]["labels"], one["metadata"]["annotations"]
        assert annotations["received-resource-type"] == "Fraction"
        prefix = annotations["runai/shared-gpu-configmap"]
        data = cluster.get("configmap", f"{prefix}-0", f"--namespace={NAMESPACE}")["data"]
        visible = set(data["NVIDIA_VISIBLE_DEVICES"].split(","))
        assert visible == {devices[group] for key, group in labels.items() if key.startswith(GROUP)}, name
        assert {agent.nodes[device] for device in visible} == {one["spec"]["nodeName"]}
        for device in visible:
            used[device] += float(data["GPU_PORTION"])
    return used


def _check_devices(cluster: Kubectl, agent: ReservationAgent, expected: list[float]) -> None:
    """Check the portions in use, and that whole and reserved GPUs fit on each node."""
    assert sorted(_usage(cluster, agent).values()) == expected
    held: dict[str, int] = defaultdict(int)
    for one in (*pods(cluster).values(), *agent.pods().values()):
        (container,) = one["spec"]["containers"]
        whole = container["resources"].get("requests", {}).get("nvidia.com/gpu", "0")
        held[one["spec"].get("nodeName", "")] += int(whole)
    assert all(held[node] <= 4 for node in ("sched-1", "sched-2"))


def test_seed_000_shares_gpus_also_after_restarts(
    plane: ControlPlane, cluster: Kubectl, access: Path, agent: ReservationAgent, tmp_path: Path
) -> None:
    log, configuration = tmp_path / "scheduler.log", sharing_configuration(tmp_path, timeout_s=60)
    audit = plane.folder / AUDIT_LOG
    offset = size(audit)
    with scheduler(access, log, configuration):
        answer = cluster.create(*_ray_cluster(cluster))
        assert answer.accepted, answer.said
        former = until(lambda: set(agent.pods()), lambda found: len(found) == 2, log)
        # No pod of the gang is bound before all of its devices are reserved.
        assert bound(cluster) == set()
    # A scheduler that starts while reservations are awaited deletes them and decides anew.
    with scheduler(access, log, configuration):
        until(lambda: set(agent.pods()), lambda found: len(found) == 2 and not found & former, log)
        assert bound(cluster) == set()
        agent.reports.set()
        until(lambda: bound(cluster), lambda found: len(found) == 5, log)
        _check_devices(cluster, agent, [1.0, 1.0])
    # A scheduler that starts later reads the shared devices from the labels of pods.
    with scheduler(access, log, configuration):
        # A ConfigMap that exists is changed.
        existing = {"name": "half-1-abcdefg-shared-gpu-0", "namespace": NAMESPACE}
        assert cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": existing}).accepted
        for name in ("half-1", "half-2", "half-3"):
            assert cluster.create(_sharing(name)).accepted
        until(lambda: bound(cluster), lambda found: len(found) == 8, log)
        _check_devices(cluster, agent, [0.5, 1.0, 1.0, 1.0])
        # Fractions of several devices.
        assert cluster.create(_sharing("two", "0.4", **{"gpu-fraction-num-devices": "2"})).accepted
        until(lambda: bound(cluster), lambda found: "two" in found, log)
        assert sum(_usage(cluster, agent).values()) == pytest.approx(4.3)
        assert max(_usage(cluster, agent).values()) <= 1.0
        # A reservation pod is deleted with the last pod that shares its device.
        assert len(agent.pods()) == len(_usage(cluster, agent))
        for name in ("half-1", "half-2", "half-3", "two"):
            cluster.must("delete", "pod", name, f"--namespace={NAMESPACE}")
        until(lambda: len(agent.pods()), lambda found: found == 2, log)
        _check_devices(cluster, agent, [1.0, 1.0])
        cluster.must("delete", "pods", "--all", f"--namespace={NAMESPACE}")
        until(agent.pods, lambda found: not found, log)
    assert "forbidden" not in log.read_text()
    added = set(permissions(scheduler_objects(SHARING))) - set(permissions(scheduler_objects(PACKAGED)))
    made = set(requests(audit, offset, ACCOUNT))
    assert sorted(str(one) for one in added if not any(one.permits(request) for request in made)) == []


def test_pod_whose_gpu_is_not_reserved_evicts_no_pod_and_reports_why(
    cluster: Kubectl, access: Path, agent: ReservationAgent, tmp_path: Path
) -> None:
    log = tmp_path / "scheduler.log"
    with scheduler(access, log, sharing_configuration(tmp_path, timeout_s=2)):
        # One GPU is left.
        for name, gpus in (("one", 4), ("two", 3)):
            assert cluster.create(pod(name, "team-a", gpus)).accepted
        until(lambda: bound(cluster), lambda found: found == {"one", "two"}, log)
        assert cluster.create(_sharing("half")).accepted
        until(
            lambda: pending_reason(cluster, "half"), lambda said: "has not reported its device within 2 s" in said, log
        )
        until(agent.pods, lambda found: not found, log)
        # The last GPU is used by another pod, and the next ones could only be gained by an eviction.
        assert cluster.create(pod("three", "team-a", 1)).accepted
        until(lambda: bound(cluster), lambda found: found == {"one", "two", "three"}, log)
        urgent = _sharing("urgent")
        urgent["metadata"]["labels"]["priorityClassName"] = "inference"
        assert cluster.create(urgent).accepted
        why = "no pods are evicted for the gang until a GPU reservation succeeds"
        until(lambda: pending_reason(cluster, "urgent"), lambda said: said.startswith(why), log)
    assert bound(cluster) == {"one", "two", "three"}
    assert events(cluster, "Preempted") == []


def test_account_writes_only_config_maps_of_pods_that_share_gpus(kubectl: Kubectl, access: Path) -> None:
    own = Kubectl(kubectl.binary, access)

    def refusal(name: str) -> str:
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}
        return own.create(made, dry_run=True).said

    # The API server compiles a new policy in the background.
    said = until(lambda: refusal("settings"), bool)
    assert "the scheduler may write ConfigMaps only for pods that share GPUs" in said
    assert [refusal(f"a-abcdefg-shared-gpu-{suffix}") for suffix in ("0", "i1", "0-evar")] == ["", "", ""]

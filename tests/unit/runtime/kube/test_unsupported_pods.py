"""Pods that this scheduler cannot bind evict nobody and leave no gang half bound."""

from __future__ import annotations

from typing import Any

import pytest

from .memory_cluster import Memory, run_cycle
from .objects import INFERENCE, NOW, TRAIN, node, pod, pod_group, queue

TEAM = queue("team", None, 8)
HALF = {"gpu-fraction": "0.5"}


def _claim(name: str, volume: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"volumeName": volume} if volume else {},
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def _volume(name: str, zone: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
    }


def _mounting(made: dict[str, Any], claim: str) -> dict[str, Any]:
    made["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return made


def _claiming(made: dict[str, Any]) -> dict[str, Any]:
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "mine"}]
    return made


def _zoned(made: dict[str, Any], zone: str) -> dict[str, Any]:
    made["metadata"]["labels"]["zone"] = zone
    return made


@pytest.mark.parametrize(
    ("asking", "why"),
    [
        (pod("new", "team", 0, priority="inference", **HALF), "shares a GPU (annotation gpu-fraction)"),
        (pod("new", "team", 0, priority="inference", **{"gpu-memory": "4096"}), "shares a GPU (annotation gpu-memory)"),
        (_claiming(pod("new", "team", 1, priority="inference")), "resource claim `gpu`"),
        (_mounting(pod("new", "team", 1, priority="inference"), "data"), "volume claim `data` does not exist"),
        (_mounting(pod("new", "team", 1, priority="inference"), "unbound"), "volume claim `unbound` is not bound"),
    ],
    ids=["fraction", "memory", "claim", "missing volume", "unbound volume"],
)
def test_unbindable_pod_evicts_no_pod_and_reports_reason(asking: dict[str, Any], why: str) -> None:
    training = [pod(f"train-{n}", "team", 1) for n in range(8)]
    cluster = Memory(node("n1", 8), TRAIN, INFERENCE, TEAM, _claim("unbound"), *training)
    assert len(run_cycle(cluster, NOW).bound) == 8
    cluster.create(asking)
    result = run_cycle(cluster, NOW + 1)
    assert (result.evicted, result.bound, result.waiting) == ([], [], ["team/new"])
    assert why in cluster.told["new"]


FRACTION = "it must be more than 0 and less than 1, such as 0.5"
REJECTED = "KAI's admission webhook rejects the annotation"
ALONE = "cannot request multiple fractional devices without specifying fraction portion or gpu-memory"
MEMORY = "it must be a positive integer in MiB, such as 2000"


@pytest.mark.parametrize(
    ("annotations", "why"),
    [
        ({"gpu-fraction": "abc"}, f"annotation gpu-fraction is `abc`; {FRACTION}"),
        ({"gpu-fraction": "1.5"}, f"annotation gpu-fraction is `1.5`; {FRACTION}"),
        ({"gpu-fraction": "-0.5"}, f"annotation gpu-fraction is `-0.5`; {FRACTION}"),
        ({"gpu-memory": "-1"}, f"annotation gpu-memory is `-1`; {MEMORY}"),
        ({"gpu-memory": "4Gi"}, f"annotation gpu-memory is `4Gi`; {MEMORY}"),
        (
            {**HALF, "gpu-fraction-num-devices": "0"},
            "annotation gpu-fraction-num-devices is `0`; it must be a positive integer, such as 2",
        ),
        ({"gpu-fraction-num-devices": "2"}, f"{REJECTED} gpu-fraction-num-devices: {ALONE}"),
        ({"gpu-fraction-num-devices": "two"}, f"{REJECTED} gpu-fraction-num-devices: {ALONE}"),
        ({"mps": "true"}, f"{REJECTED} mps: MPS is only supported with GPU fraction request"),
        ({**HALF, "gpu-memory": "2000"}, f"{REJECTED} gpu-memory: cannot request both GPU and GPU memory"),
    ],
)
def test_invalid_share_of_a_gpu_is_reported_with_its_value(annotations: dict[str, str], why: str) -> None:
    cluster = Memory(node("n1", 8), TRAIN, TEAM, pod("new", "team", 0, **annotations))
    run_cycle(cluster, NOW)
    assert cluster.told == {"new": f"the pod cannot be bound: {why}"}


def test_share_of_a_gpu_and_whole_gpus_are_reported() -> None:
    made = pod("new", "team", 1, **HALF)
    made["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    cluster = Memory(node("n1", 8), TRAIN, TEAM, made)
    run_cycle(cluster, NOW)
    why = "cannot have both GPU fraction request and whole GPU resource request/limit"
    assert cluster.told == {"new": f"the pod cannot be bound: {REJECTED} gpu-fraction: {why}"}


def test_supported_pod_of_same_class_evicts() -> None:
    cluster = Memory(node("n1", 8), TRAIN, INFERENCE, TEAM, *(pod(f"train-{n}", "team", 1) for n in range(8)))
    run_cycle(cluster, NOW)
    cluster.create(pod("new", "team", 1, priority="inference"))
    assert len(run_cycle(cluster, NOW + 1).evicted) == 1


def test_gang_with_unsupported_pod_is_not_bound() -> None:
    head = pod("head", "team", 1, **{"pod-group-name": "gang"})
    workers = [pod(f"worker-{n}", "team", 0, **HALF, **{"pod-group-name": "gang"}) for n in range(4)]
    cluster = Memory(node("n1", 8), TRAIN, TEAM, pod_group("gang", "team", 5), head, *workers, pod("other", "team", 1))
    assert run_cycle(cluster, NOW).bound == ["team/other"]
    assert cluster.told["head"].startswith("pod worker-0 of the gang cannot be bound: it shares a GPU")


def test_running_pods_of_gang_keep_their_devices() -> None:
    gang = {"pod-group-name": "gang"}
    running = pod("running", "team", 8, on="n1", **gang)
    cluster = Memory(
        node("n1", 8),
        TRAIN,
        TEAM,
        pod_group("gang", "team", 1),
        running,
        pod("half", "team", 0, **gang, **HALF),
        pod("a", "team", 1),
    )
    result = run_cycle(cluster, NOW)
    assert result.bound == []
    assert "half" in cluster.told


def test_pod_is_bound_in_zone_of_its_volume() -> None:
    mounting = _mounting(pod("a", "team", 1), "data")
    cluster = Memory(
        _zoned(node("n1", 8), "north"),
        _zoned(node("n2", 8), "south"),
        TRAIN,
        TEAM,
        _claim("data", "disk"),
        _volume("disk", "south"),
        mounting,
    )
    assert run_cycle(cluster, NOW).bound == ["team/a"]
    assert cluster.node_of("a") == "n2"


def test_pod_stays_pending_if_its_volume_is_in_another_zone() -> None:
    mounting = _mounting(pod("a", "team", 1), "data")
    mounting["spec"]["nodeSelector"] = {"zone": "north"}
    cluster = Memory(
        _zoned(node("n1", 8), "north"), TRAIN, TEAM, _claim("data", "disk"), _volume("disk", "south"), mounting
    )
    assert run_cycle(cluster, NOW).waiting == ["team/a"]

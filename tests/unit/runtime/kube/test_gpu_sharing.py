"""Pods that share devices: reserved, written, bound and released as KAI's binder does it; whole gangs or nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from apportion_runtime.kube.errors import Refused
from apportion_runtime.kube.gang_reservations import GangReservations
from apportion_runtime.kube.gpu_reservation import ReservationSettings

from .memory_cluster import Memory, run_cycle
from .objects import INFERENCE, NOW, TRAIN, node, pod, pod_group, queue

TEAM = queue("team", None, 8)
RESERVED = "kai-resource-reservation"
GROUP = "runai-gpu-group"
GANG = {"pod-group-name": "gang"}
DEVICE = "run.ai/reserve_for_gpu_index"


def sharing(name: str, fraction: str = "0.5", *, priority: str = "train", **annotations: str) -> dict[str, Any]:
    """Return a pod as KAI's admission webhook prepares it."""
    request = {} if "gpu-memory" in annotations else {"gpu-fraction": fraction}
    made = pod(
        name, "team", 0, priority=priority, **{"runai/shared-gpu-configmap": f"{name}-x-shared-gpu"}, **request,
        **annotations,
    )  # fmt: skip
    source = {"configMapKeyRef": {"name": f"{name}-x-shared-gpu-0", "key": "NVIDIA_VISIBLE_DEVICES"}}
    made["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": source}]
    return made


def _cluster(*objects: dict[str, Any], gpus: int = 4, **settings: Any) -> Memory:
    cluster = Memory(node("n1", gpus), TRAIN, INFERENCE, TEAM, *objects)
    chosen = ReservationSettings("registry.example/reservation:v1", **settings)
    cluster.reservations = GangReservations(chosen, lambda: cluster.clock_s)
    return cluster


def _reservations(cluster: Memory) -> list[dict[str, Any]]:
    return [one for (kind, namespace, _), one in cluster.held.items() if (kind, namespace) == ("Pod", RESERVED)]


def _report(cluster: Memory) -> None:
    """Report the devices of all reservation pods, as the processes in them do."""
    for number, one in enumerate(_reservations(cluster)):
        if DEVICE not in one["metadata"]["annotations"]:
            name = one["metadata"]["name"]
            cluster.merge("Pod", RESERVED, name, {"metadata": {"annotations": {DEVICE: f"GPU-{number}"}}})


def _bind_all(cluster: Memory) -> None:
    run_cycle(cluster, NOW)
    _report(cluster)
    run_cycle(cluster, NOW + 1)


def _labels(cluster: Memory, name: str) -> dict[str, str]:
    labels = cluster.held["Pod", "team", name]["metadata"]["labels"]
    return {key: value for key, value in labels.items() if key.startswith(GROUP)}


def _end(cluster: Memory, name: str) -> None:
    cluster.merge_status("Pod", "team", name, {"phase": "Succeeded"})


def test_reservation_pod_is_created_as_by_kais_binder() -> None:
    asking = sharing("a")
    asking["spec"]["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    cluster = _cluster(asking, runtime_class="nvidia")
    run_cycle(cluster, NOW)
    (made,) = _reservations(cluster)
    group = made["metadata"]["labels"][GROUP]
    assert made["metadata"]["labels"] == {"app": "kai-resource-reservation", GROUP: group}
    assert made["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    spec = made["spec"]
    (container,) = spec.pop("containers")
    assert spec == {
        "nodeName": "n1",
        "serviceAccountName": "kai-resource-reservation",
        "runtimeClassName": "nvidia",
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    }
    assert container["image"] == "registry.example/reservation:v1"
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
    assert [one["name"] for one in container["env"]] == ["POD_NAME", "POD_NAMESPACE"]


def test_pod_is_bound_only_when_its_device_is_reserved() -> None:
    cluster = _cluster(sharing("a"))
    assert run_cycle(cluster, NOW).bound == []
    assert run_cycle(cluster, NOW + 1).bound == []
    assert len(_reservations(cluster)) == 1
    assert _labels(cluster, "a") == {}
    _report(cluster)
    assert run_cycle(cluster, NOW + 2).bound == ["team/a"]


def test_bound_pod_has_the_labels_and_config_maps_of_kais_binder() -> None:
    cluster = _cluster(sharing("a"))
    _bind_all(cluster)
    (reservation,) = _reservations(cluster)
    assert _labels(cluster, "a") == {GROUP: reservation["metadata"]["labels"][GROUP]}
    assert cluster.held["Pod", "team", "a"]["metadata"]["annotations"]["received-resource-type"] == "Fraction"
    capabilities = cluster.held["ConfigMap", "team", "a-x-shared-gpu-0"]
    assert capabilities["data"] == {
        "NVIDIA_VISIBLE_DEVICES": "GPU-0",
        "GPU_PORTION": "0.50",
        "RUNAI_NUM_OF_GPUS": "0.50",
    }
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "uid-a"}
    assert capabilities["metadata"]["ownerReferences"] == [owner]
    assert cluster.held["ConfigMap", "team", "a-x-shared-gpu-0-evar"]["data"] == {}


def test_devices_go_to_the_environment_of_a_container_that_does_not_read_them_by_key() -> None:
    asking = sharing("a", **{"gpu-fraction-container-name": "first"})
    del asking["spec"]["containers"][0]["env"]
    asking["spec"]["initContainers"] = [{"name": "zero"}, {"name": "first"}]
    cluster = _cluster(asking, uses_cdi=True)
    _bind_all(cluster)
    visible = {"NVIDIA_VISIBLE_DEVICES": "k8s.device-plugin.nvidia.com/gpu=GPU-0"}
    assert cluster.held["ConfigMap", "team", "a-x-shared-gpu-i1-evar"]["data"] == visible
    assert "NVIDIA_VISIBLE_DEVICES" not in cluster.held["ConfigMap", "team", "a-x-shared-gpu-i1"]["data"]


def test_existing_config_map_of_an_earlier_version_gets_the_devices_under_both_keys() -> None:
    cluster = _cluster(sharing("a"))
    former = {"name": "a-x-shared-gpu-0", "namespace": "team"}
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": former, "data": {"RUNAI-VISIBLE-DEVICES": ""}})
    _bind_all(cluster)
    assert cluster.held["ConfigMap", "team", "a-x-shared-gpu-0"]["data"]["RUNAI-VISIBLE-DEVICES"] == "GPU-0"


def test_two_halves_share_a_device_and_a_third_gets_another() -> None:
    cluster = _cluster(*(sharing(name) for name in "abc"))
    _bind_all(cluster)
    groups = Counter(_labels(cluster, name)[GROUP] for name in "abc")
    assert sorted(groups.values()) == [1, 2]
    assert {one["metadata"]["labels"][GROUP] for one in _reservations(cluster)} == set(groups)


def test_pod_joins_a_device_with_room_without_another_reservation() -> None:
    cluster = _cluster(sharing("a"))
    _bind_all(cluster)
    cluster.create(sharing("b"))
    assert run_cycle(cluster, NOW + 2).bound == ["team/b"]
    assert _labels(cluster, "a") == _labels(cluster, "b")
    assert len(_reservations(cluster)) == 1


def test_devices_that_are_being_reserved_are_not_given_to_other_pods() -> None:
    cluster = _cluster(sharing("a"), gpus=2)
    run_cycle(cluster, NOW)
    cluster.create(pod("whole", "team", 2))
    assert run_cycle(cluster, NOW + 1).bound == []
    cluster.create(pod("one", "team", 1))
    assert run_cycle(cluster, NOW + 2).bound == ["team/one"]


def test_reservation_counts_once_beside_the_pods_that_share_its_device() -> None:
    cluster = _cluster(*(sharing(name) for name in "abc"), gpus=2)
    _bind_all(cluster)
    cluster.create(sharing("d"))
    assert run_cycle(cluster, NOW + 2).bound == ["team/d"]
    cluster.create(sharing("e", "0.1"))
    assert run_cycle(cluster, NOW + 3).bound == []


def test_other_pods_are_bound_while_a_reservation_is_awaited() -> None:
    cluster = _cluster(sharing("a"), pod("whole", "team", 1))
    assert run_cycle(cluster, NOW).bound == ["team/whole"]


def test_fractions_of_several_devices_are_reserved_and_read_back() -> None:
    cluster = _cluster(sharing("a", **{"gpu-fraction-num-devices": "2"}), gpus=2)
    _bind_all(cluster)
    labels = _labels(cluster, "a")
    assert len(_reservations(cluster)) == 2
    assert set(labels.values()) == {one["metadata"]["labels"][GROUP] for one in _reservations(cluster)}
    (other,) = (key for key in labels if key != GROUP)
    assert other == f"{GROUP}/{labels[other]}"
    data = cluster.held["ConfigMap", "team", "a-x-shared-gpu-0"]["data"]
    assert sorted(data["NVIDIA_VISIBLE_DEVICES"].split(",")) == ["GPU-0", "GPU-1"]
    cluster.create(pod("whole", "team", 1))
    cluster.create(sharing("b", **{"gpu-fraction-num-devices": "2"}))
    assert run_cycle(cluster, NOW + 2).bound == ["team/b"]


def test_memory_is_written_as_the_portion_of_the_node_s_devices() -> None:
    cluster = _cluster(sharing("a", **{"gpu-memory": "20000"}))
    cluster.merge("Node", "", "n1", {"metadata": {"labels": {"nvidia.com/gpu.memory": "80000"}}})
    _bind_all(cluster)
    assert cluster.held["ConfigMap", "team", "a-x-shared-gpu-0"]["data"]["GPU_PORTION"] == "0.25"


def test_reservation_pod_is_deleted_after_the_last_pod_that_shares_its_device() -> None:
    cluster = _cluster(sharing("a"), sharing("b"))
    _bind_all(cluster)
    _end(cluster, "a")
    run_cycle(cluster, NOW + 2)
    assert len(_reservations(cluster)) == 1
    _end(cluster, "b")
    run_cycle(cluster, NOW + 3)
    assert _reservations(cluster) == []


def test_gang_with_fractions_is_bound_whole() -> None:
    workers = [sharing(f"worker-{n}", **GANG) for n in range(4)]
    cluster = _cluster(pod_group("gang", "team", 5), pod("head", "team", 1, **GANG), *workers)
    assert run_cycle(cluster, NOW).bound == []
    assert len(_reservations(cluster)) == 2
    first = _reservations(cluster)[0]["metadata"]["name"]
    cluster.merge("Pod", RESERVED, first, {"metadata": {"annotations": {DEVICE: "GPU-9"}}})
    assert run_cycle(cluster, NOW + 1).bound == []
    _report(cluster)
    assert len(run_cycle(cluster, NOW + 2).bound) == 5


def _failing(cluster: Memory, how: str) -> str:
    if how == "timeout":
        cluster.clock_s += 40
        return "has not reported its device within 40 s"
    name = _reservations(cluster)[0]["metadata"]["name"]
    if how == "deleted":
        del cluster.held["Pod", RESERVED, name]
        return "was deleted"
    cluster.merge_status("Pod", RESERVED, name, {"phase": "Failed", "reason": "UnexpectedAdmissionError"})
    return "ended with phase Failed (UnexpectedAdmissionError)"


@pytest.mark.parametrize("how", ["timeout", "failed", "deleted"])
def test_gang_whose_device_is_not_reserved_is_not_bound_and_reports_why(how: str) -> None:
    gang = [pod("head", "team", 1, **GANG), sharing("worker", **GANG)]
    cluster = _cluster(pod_group("gang", "team", 2), *gang)
    run_cycle(cluster, NOW)
    why = _failing(cluster, how)
    assert run_cycle(cluster, NOW + 1).bound == []
    assert _reservations(cluster) == []
    run_cycle(cluster, NOW + 2)
    for name in ("head", "worker"):
        assert "no GPU can be reserved for pod worker" in cluster.told[name]
        assert why in cluster.told[name]
    # Its devices are free for other pods, and it is tried again after a delay.
    cluster.create(pod("whole", "team", 4))
    assert run_cycle(cluster, NOW + 3).bound == ["team/whole"]
    _end(cluster, "whole")
    cluster.clock_s += 10
    run_cycle(cluster, NOW + 14)
    _report(cluster)
    assert len(run_cycle(cluster, NOW + 15).bound) == 2


def test_bound_pods_of_a_gang_are_taken_back_if_a_device_is_not_reserved() -> None:
    cluster = _cluster(pod_group("gang", "team", 2), pod("head", "team", 1, **GANG))
    head = cluster.held["Pod", "team", "head"]
    cluster.held["Pod", "team", "head"] = {**head, "spec": {**head["spec"], "nodeName": "n1"}}
    cluster.create(sharing("worker", **GANG))
    run_cycle(cluster, NOW)
    cluster.clock_s += 40
    assert run_cycle(cluster, NOW + 40).evicted == ["team/head"]


def test_gang_is_decided_anew_if_one_of_its_pods_disappears_while_it_waits() -> None:
    cluster = _cluster(pod_group("gang", "team", 2), pod("head", "team", 1, **GANG), sharing("worker", **GANG))
    run_cycle(cluster, NOW)
    del cluster.held["Pod", "team", "head"]
    _report(cluster)
    assert run_cycle(cluster, NOW + 1).bound == []
    assert _reservations(cluster) == []
    cluster.create(pod("head", "team", 1, **GANG))
    run_cycle(cluster, NOW + 2)
    _report(cluster)
    assert len(run_cycle(cluster, NOW + 3).bound) == 2


def test_no_pod_is_evicted_if_the_api_server_does_not_accept_reservation_pods() -> None:
    cluster = _cluster(*(pod(f"train-{n}", "team", 1) for n in range(4)))
    run_cycle(cluster, NOW)
    cluster.create(sharing("new", priority="inference"))
    cluster.refuses_creation = Refused(404, 'namespaces "kai-resource-reservation" not found')
    result = run_cycle(cluster, NOW + 1)
    assert (result.evicted, result.waiting) == ([], ["team/new"])
    assert 'reservation pods in namespace kai-resource-reservation: namespaces "kai-res' in cluster.told["new"]
    cluster.refuses_creation = None
    assert run_cycle(cluster, NOW + 2).evicted == []
    cluster.clock_s += 60
    assert len(run_cycle(cluster, NOW + 62).evicted) == 1


def test_no_pod_is_evicted_after_a_reservation_failed_until_one_succeeds() -> None:
    cluster = _cluster(*(pod(f"train-{n}", "team", 1) for n in range(3)), sharing("first"))
    run_cycle(cluster, NOW)
    cluster.clock_s += 40
    run_cycle(cluster, NOW + 40)
    cluster.create(pod("train-3", "team", 1))
    assert run_cycle(cluster, NOW + 41).bound == ["team/train-3"]
    cluster.create(sharing("new", priority="inference"))
    assert run_cycle(cluster, NOW + 42).evicted == []
    run_cycle(cluster, NOW + 43)
    assert cluster.told["new"].startswith("no pod is evicted for it until a GPU reservation succeeds; the last one")
    # A device becomes free, and its reservation succeeds.
    _end(cluster, "train-3")
    cluster.clock_s += 10
    _bind_all(cluster)
    cluster.create(sharing("next", "0.9", priority="inference"))
    assert len(run_cycle(cluster, NOW + 55).evicted) == 1


def test_pod_that_kais_webhook_has_not_prepared_is_excluded() -> None:
    cluster = _cluster(pod("a", "team", 0, **{"gpu-fraction": "0.5"}))
    assert run_cycle(cluster, NOW).waiting == ["team/a"]
    assert "KAI's admission webhook has not prepared it" in cluster.told["a"]
    assert _reservations(cluster) == []


def test_restart_while_a_reservation_is_awaited_deletes_it_and_decides_anew() -> None:
    cluster = _cluster(sharing("a"))
    run_cycle(cluster, NOW)
    (former,) = _reservations(cluster)
    assert cluster.reservations is not None
    cluster.reservations = GangReservations(cluster.reservations.settings, lambda: cluster.clock_s)
    _bind_all(cluster)
    (present,) = _reservations(cluster)
    assert present["metadata"]["name"] != former["metadata"]["name"]
    assert cluster.node_of("a") == "n1"


def test_labels_of_a_pod_that_was_not_bound_are_removed() -> None:
    labelled = sharing("a")
    labelled["metadata"]["labels"] |= {GROUP: "former", f"{GROUP}/other": "other"}
    cluster = _cluster(labelled, pod("whole", "team", 4, on="n1"))
    run_cycle(cluster, NOW)
    assert _labels(cluster, "a") == {}


def test_groups_of_several_devices_are_read_as_kais_binder_labels_them() -> None:
    running = sharing("a", **{"gpu-fraction-num-devices": "2"})
    running["metadata"]["labels"] |= {f"{GROUP}/one": "one", f"{GROUP}/two": "two"}
    running["spec"]["nodeName"], running["status"] = "n1", {"phase": "Running"}
    cluster = _cluster(running, pod("whole", "team", 1), gpus=2)
    assert run_cycle(cluster, NOW).bound == []


def test_pod_is_not_given_a_device_that_pods_use_without_a_reservation() -> None:
    cluster = _cluster(sharing("a"))
    _bind_all(cluster)
    (reservation,) = _reservations(cluster)
    cluster.delete(reservation)
    cluster.create(sharing("b"))
    assert run_cycle(cluster, NOW + 2).bound == []
    run_cycle(cluster, NOW + 3)
    assert "does not exist although pods use its device" in cluster.told["b"]

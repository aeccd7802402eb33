"""Pods that share devices: reserved, written, bound and released as KAI's binder does it."""

from __future__ import annotations

from collections import Counter

import pytest

from .memory_cluster import run_cycle
from .objects import NOW, pod, pod_group
from .sharing_pods import (
    DEVICE,
    GANG,
    GROUP,
    RESERVED,
    bind_all,
    end,
    group_labels,
    report_devices,
    reservations,
    sharing,
    sharing_cluster,
)


def test_reservation_pod_is_created_as_by_kais_binder() -> None:
    asking = sharing("a")
    asking["spec"]["tolerations"] = [{"key": "gpu", "operator": "Exists"}]
    cluster = sharing_cluster(asking, runtime_class="nvidia")
    run_cycle(cluster, NOW)
    (made,) = reservations(cluster)
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
    cluster = sharing_cluster(sharing("a"))
    assert run_cycle(cluster, NOW).bound == []
    assert run_cycle(cluster, NOW + 1).bound == []
    assert len(reservations(cluster)) == 1
    assert group_labels(cluster, "a") == {}
    report_devices(cluster)
    assert run_cycle(cluster, NOW + 2).bound == ["team/a"]


def test_bound_pod_has_the_labels_and_config_maps_of_kais_binder() -> None:
    cluster = sharing_cluster(sharing("a"))
    bind_all(cluster)
    (reservation,) = reservations(cluster)
    assert group_labels(cluster, "a") == {GROUP: reservation["metadata"]["labels"][GROUP]}
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
    cluster = sharing_cluster(asking, uses_cdi=True)
    bind_all(cluster)
    visible = {"NVIDIA_VISIBLE_DEVICES": "k8s.device-plugin.nvidia.com/gpu=GPU-0"}
    assert cluster.held["ConfigMap", "team", "a-x-shared-gpu-i1-evar"]["data"] == visible
    assert "NVIDIA_VISIBLE_DEVICES" not in cluster.held["ConfigMap", "team", "a-x-shared-gpu-i1"]["data"]


def test_existing_config_map_of_an_earlier_version_gets_the_devices_under_both_keys() -> None:
    cluster = sharing_cluster(sharing("a"))
    former = {"name": "a-x-shared-gpu-0", "namespace": "team"}
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": former, "data": {"RUNAI-VISIBLE-DEVICES": ""}})
    bind_all(cluster)
    assert cluster.held["ConfigMap", "team", "a-x-shared-gpu-0"]["data"]["RUNAI-VISIBLE-DEVICES"] == "GPU-0"


def test_two_halves_share_a_device_and_a_third_gets_another() -> None:
    cluster = sharing_cluster(*(sharing(name) for name in "abc"))
    bind_all(cluster)
    groups = Counter(group_labels(cluster, name)[GROUP] for name in "abc")
    assert sorted(groups.values()) == [1, 2]
    assert {one["metadata"]["labels"][GROUP] for one in reservations(cluster)} == set(groups)


def test_pod_joins_a_device_with_room_without_another_reservation() -> None:
    cluster = sharing_cluster(sharing("a"))
    bind_all(cluster)
    cluster.create(sharing("b"))
    assert run_cycle(cluster, NOW + 2).bound == ["team/b"]
    assert group_labels(cluster, "a") == group_labels(cluster, "b")
    assert len(reservations(cluster)) == 1


def test_devices_that_are_being_reserved_are_not_given_to_other_pods() -> None:
    cluster = sharing_cluster(sharing("a"), gpus=2)
    run_cycle(cluster, NOW)
    cluster.create(pod("whole", "team", 2))
    assert run_cycle(cluster, NOW + 1).bound == []
    cluster.create(pod("one", "team", 1))
    assert run_cycle(cluster, NOW + 2).bound == ["team/one"]


def test_reservation_counts_once_beside_the_pods_that_share_its_device() -> None:
    cluster = sharing_cluster(*(sharing(name) for name in "abc"), gpus=2)
    bind_all(cluster)
    cluster.create(sharing("d"))
    assert run_cycle(cluster, NOW + 2).bound == ["team/d"]
    cluster.create(sharing("e", "0.1"))
    assert run_cycle(cluster, NOW + 3).bound == []


def test_reservation_pods_have_the_label_that_the_shard_configures() -> None:
    arguments = {"args": {"resource-reservation-app-label": "held"}}
    shard = {
        "apiVersion": "kai.scheduler/v1",
        "kind": "SchedulingShard",
        "metadata": {"name": "default"},
        "spec": arguments,
    }
    cluster = sharing_cluster(shard, sharing("a"), gpus=2)
    bind_all(cluster)
    assert [one["metadata"]["labels"]["app"] for one in reservations(cluster)] == ["held"]
    # A reservation that is not recognized would count beside the pod that shares its device.
    cluster.create(pod("whole", "team", 1))
    assert run_cycle(cluster, NOW + 2).bound == ["team/whole"]


def test_other_pods_are_bound_while_a_reservation_is_awaited() -> None:
    cluster = sharing_cluster(sharing("a"), pod("whole", "team", 1))
    assert run_cycle(cluster, NOW).bound == ["team/whole"]


def test_fractions_of_several_devices_are_reserved_and_read_back() -> None:
    cluster = sharing_cluster(sharing("a", **{"gpu-fraction-num-devices": "2"}), gpus=2)
    bind_all(cluster)
    labels = group_labels(cluster, "a")
    assert len(reservations(cluster)) == 2
    assert set(labels.values()) == {one["metadata"]["labels"][GROUP] for one in reservations(cluster)}
    (other,) = (key for key in labels if key != GROUP)
    assert other == f"{GROUP}/{labels[other]}"
    data = cluster.held["ConfigMap", "team", "a-x-shared-gpu-0"]["data"]
    assert sorted(data["NVIDIA_VISIBLE_DEVICES"].split(",")) == ["GPU-0", "GPU-1"]
    cluster.create(pod("whole", "team", 1))
    cluster.create(sharing("b", **{"gpu-fraction-num-devices": "2"}))
    assert run_cycle(cluster, NOW + 2).bound == ["team/b"]


def test_memory_is_written_as_the_portion_of_the_node_s_devices() -> None:
    cluster = sharing_cluster(sharing("a", **{"gpu-memory": "20000"}))
    cluster.merge("Node", "", "n1", {"metadata": {"labels": {"nvidia.com/gpu.memory": "80000"}}})
    bind_all(cluster)
    assert cluster.held["ConfigMap", "team", "a-x-shared-gpu-0"]["data"]["GPU_PORTION"] == "0.25"


def test_reservation_pod_is_deleted_after_the_last_pod_that_shares_its_device() -> None:
    cluster = sharing_cluster(sharing("a"), sharing("b"))
    bind_all(cluster)
    end(cluster, "a")
    run_cycle(cluster, NOW + 2)
    assert len(reservations(cluster)) == 1
    end(cluster, "b")
    run_cycle(cluster, NOW + 3)
    assert reservations(cluster) == []


def test_gang_with_fractions_is_bound_whole() -> None:
    workers = [sharing(f"worker-{n}", **GANG) for n in range(4)]
    cluster = sharing_cluster(pod_group("gang", "team", 5), pod("head", "team", 1, **GANG), *workers)
    assert run_cycle(cluster, NOW).bound == []
    assert len(reservations(cluster)) == 2
    first = reservations(cluster)[0]["metadata"]["name"]
    cluster.merge("Pod", RESERVED, first, {"metadata": {"annotations": {DEVICE: "GPU-9"}}})
    assert run_cycle(cluster, NOW + 1).bound == []
    report_devices(cluster)
    assert len(run_cycle(cluster, NOW + 2).bound) == 5


def test_pod_that_kais_webhook_has_not_prepared_is_excluded() -> None:
    cluster = sharing_cluster(pod("a", "team", 0, **{"gpu-fraction": "0.5"}))
    assert run_cycle(cluster, NOW).waiting == ["team/a"]
    assert "KAI's admission webhook has not set annotation" in cluster.told["a"]
    assert reservations(cluster) == []


@pytest.mark.parametrize("reserves", [True, False], ids=["with reservations", "without"])
def test_groups_of_several_devices_are_read_as_kais_binder_labels_them(*, reserves: bool) -> None:
    running = sharing("a", **{"gpu-fraction-num-devices": "2"})
    running["metadata"]["labels"] |= {f"{GROUP}/one": "one", f"{GROUP}/two": "two"}
    running["spec"]["nodeName"], running["status"] = "n1", {"phase": "Running"}
    cluster = sharing_cluster(running, pod("whole", "team", 1), gpus=2)
    if not reserves:
        cluster.reservations = None
    assert run_cycle(cluster, NOW).bound == []

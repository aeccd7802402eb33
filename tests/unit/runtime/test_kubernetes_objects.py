"""What the core sees of a cluster's objects: one row for each rule by which the engine's cache reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.snapshot import (
    Allocation,
    Claim,
    ClaimReference,
    Device,
    DeviceClass,
    DeviceRequest,
    Expression,
    Node,
    NodeTerm,
    NumaTopology,
    NumaZone,
    Pod,
    PodGroup,
    PodTerm,
    Queue,
    QueueResource,
    Settings,
    SubGroup,
    Taint,
    Toleration,
    Topology,
    TopologyConstraint,
)
from apportion_runtime.core.status import NAMES
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.loading import Source
from apportion_runtime.snapshots.reading import Read, read_snapshot

NOW = 1_763_712_000.0  # 2025-11-21T08:00:00Z


def read(*objects: dict[str, Any], now: float | None = NOW) -> Read:
    return read_snapshot([Source("objects.yaml", yaml.safe_dump_all(objects))], now=now)


def made(kind: str, name: str = "x", *, metadata: Any = None, api: str = "v1", **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **(metadata or {})}, **rest}


def node_of(*, name: str = "n", labels: Any = None, spec: Any = None, allocatable: Any = None, **status: Any) -> Node:
    written = made(
        "Node",
        name,
        metadata={"labels": labels or {}},
        spec=spec or {},
        status={"allocatable": allocatable or {}, **status},
    )
    (only,) = read(written).snapshot.nodes  # type: ignore[union-attr]
    return only


def pod(spec: Any = None, *, name: str = "p", metadata: Any = None, status: Any = None) -> dict[str, Any]:
    about = {"namespace": "team", "uid": f"uid-{name}", **(metadata or {})}
    return made("Pod", name, metadata=about, spec=spec or {}, status=status or {"phase": "Pending"})


def pod_of(spec: Any = None, *others: dict[str, Any], metadata: Any = None, status: Any = None) -> Pod:
    snapshot = read(pod(spec, metadata=metadata, status=status), made("Node", "n", status={}), *others).snapshot
    assert snapshot is not None
    return next(each for each in snapshot.pods if each.uid == "uid-p")


def asking(*requests: Any, **spec: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": r}} for r in requests], **spec}


def queue(name: str = "q", spec: Any = None, **metadata: Any) -> dict[str, Any]:
    return made("Queue", name, api="scheduling.run.ai/v2", metadata=metadata, spec=spec or {})


def group(spec: Any = None, *, name: str = "g", status: Any = None, **metadata: Any) -> dict[str, Any]:
    about = {"namespace": "team", **metadata}
    return made(
        "PodGroup",
        name,
        api="scheduling.run.ai/v2alpha2",
        metadata=about,
        spec={"queue": "q", **(spec or {})},
        status=status or {},
    )


def group_of(spec: Any = None, *others: dict[str, Any], **metadata: Any) -> PodGroup:
    snapshot = read(group(spec, **metadata), queue(), *others).snapshot
    assert snapshot is not None
    (only,) = snapshot.pod_groups
    return only


def test_cpu_is_millicores_memory_bytes_and_extended_resources_thousandths() -> None:
    node = node_of(
        allocatable={
            "cpu": "1500m", "memory": "2Gi", "pods": "110", "nvidia.com/gpu": "8", "example.com/nic": "2",
            "ephemeral-storage": "10Gi", "hugepages-2Mi": "4Mi", "nvidia.com/mig-1g.5gb": 3, "unknown": "5",
        }
    )  # fmt: skip
    assert node.allocatable == {
        "cpu": 1500.0, "memory": 2.0**31, "pods": 110.0, "gpu": 8.0, "example.com/nic": 2000.0,
        "ephemeral-storage": 10 * 2.0**30, "hugepages-2Mi": 4 * 2.0**20 * 1000, "nvidia.com/mig-1g.5gb": 3.0,
    }  # fmt: skip


NODES = {
    "no labels": ({}, Node("n", {"cpu": 0, "memory": 0, "pods": 0}, gpu_memory_synced=False, mig_strategy="none")),
    "device memory is MiB": (
        {"labels": {"nvidia.com/gpu.memory": "81920"}},
        {"gpu_memory": 81920, "gpu_memory_synced": True},
    ),
    "device memory that is no number": (
        {"labels": {"nvidia.com/gpu.memory": "80GB"}},
        {"gpu_memory": None, "gpu_memory_synced": False},
    ),
    "device count": ({"labels": {"nvidia.com/gpu.count": "8"}}, {"n_gpus": 8}),
    "mig by label": (
        {"labels": {"node-role.kubernetes.io/mig-enabled": "true", "nvidia.com/mig.strategy": "mixed"}},
        {"mig_enabled": True, "mig_strategy": "mixed"},
    ),
    "mig off by label": ({"labels": {"node-role.kubernetes.io/mig-enabled": "no"}}, {"mig_enabled": False}),
    "unknown mig strategy": ({"labels": {"nvidia.com/mig.strategy": "some"}}, {"mig_strategy": "none"}),
    "cordoned": ({"spec": {"unschedulable": True}}, {"unschedulable": True}),
    "taints": ({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, {"taints": (Taint("a", "", "NoSchedule"),)}),
    "not ready": ({"conditions": [{"type": "Ready", "status": "Unknown"}]}, {"ready": False}),
    "under pressure": ({"conditions": [{"type": "DiskPressure", "status": "True"}]}, {"ready": False}),
    "well": (
        {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}]},
        {"ready": True},
    ),
    "any resource that ends in gpu is the GPU, in thousandths": (
        {"allocatable": {"intel.com/gpu": "2"}},
        {"allocatable": {"cpu": 0, "memory": 0, "pods": 0, "gpu": 2000.0}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NODES)
def test_nodes(case: str) -> None:
    written, expected = NODES[case]
    found = node_of(**written)  # type: ignore[arg-type]
    if isinstance(expected, Node):
        assert found == expected
    else:
        assert {field: getattr(found, field) for field in expected} == expected


def test_nodes_queues_and_groups_of_other_pools_are_left_out() -> None:
    elsewhere = {"labels": {"kai.scheduler/node-pool": "other"}}
    snapshot = read(
        made("Node", "n", metadata=elsewhere), queue("q", **elsewhere), group(name="g", **elsewhere), made("Node", "m")
    ).snapshot
    assert snapshot is not None
    assert ([n.name for n in snapshot.nodes], snapshot.queues, snapshot.pod_groups) == (["m"], (), ())


def test_pods_on_nodes_of_other_pools_are_no_fault() -> None:
    elsewhere = made("Node", "n", metadata={"labels": {"kai.scheduler/node-pool": "other"}})
    assert read(elsewhere, pod({"nodeName": "n"}, status={"phase": "Running"})).faults == ()


QUEUES = {
    "nothing said": ({}, Queue("q", None)),
    "units": (
        {
            "parentQueue": "root",
            "priority": 5,
            "preemptMinRuntime": "1h30m",
            "reclaimMinRuntime": "90s",
            "resources": {
                "gpu": {"quota": 8, "limit": -1, "overQuotaWeight": 2},
                "cpu": {"quota": 4000, "limit": 8000},
                "memory": {"quota": 1.5, "limit": -1},
            },
        },
        Queue(
            "q", "root", QueueResource(4000, 8000), QueueResource(1_500_000, -1), QueueResource(8, -1, 2), 5,
            preempt_min_runtime=5400.0, reclaim_min_runtime=90.0,
        ),
    ),
    "priority of zero": ({"priority": 0}, Queue("q", None, priority=0)),
}  # fmt: skip


@pytest.mark.parametrize("case", QUEUES)
def test_queues(case: str) -> None:
    written, expected = QUEUES[case]
    snapshot = read(queue("q", written), queue("root")).snapshot
    assert snapshot is not None
    assert next(q for q in snapshot.queues if q.name == "q") == expected


def test_flat_fairness_hangs_all_queues_below_one() -> None:
    shard = made("SchedulingShard", api="kai.scheduler/v1", spec={"args": {"full-hierarchy-fairness": "false"}})
    snapshot = read(shard, queue("root"), queue("q", {"parentQueue": "lab"})).snapshot
    assert snapshot is not None
    endless = QueueResource(-1, -1, 1)
    assert snapshot.queues == (
        Queue("default", None, endless, endless, endless, created=NOW),
        Queue("q", "default"),
    )


def classes(**values: int) -> list[dict[str, Any]]:
    return [made("PriorityClass", name, api="scheduling.k8s.io/v1", value=value) for name, value in values.items()]


PREEMPTIBILITY = {
    "unknown class: 50": ({"priorityClassName": "gone"}, (50, True)),
    "no class": ({}, (50, True)),
    "below 100": ({"priorityClassName": "low"}, (99, True)),
    "from 100": ({"priorityClassName": "high"}, (100, False)),
    "said": ({"priorityClassName": "high", "preemptibility": "preemptible"}, (100, True)),
    "said not": ({"preemptibility": "non-preemptible"}, (50, False)),
    "of a queue that is not there": ({"queue": "gone", "priorityClassName": "high"}, (0, False)),
}


@pytest.mark.parametrize("case", PREEMPTIBILITY)
def test_priority_and_preemptibility(case: str) -> None:
    written, expected = PREEMPTIBILITY[case]
    found = group_of(written, *classes(low=99, high=100))
    assert (found.priority, found.preemptible) == expected


def test_the_default_class_of_all_stands_for_a_missing_one() -> None:
    default = {**classes(usual=70)[0], "globalDefault": True}
    assert group_of({}, default).priority == 70


def plain(least: int) -> SubGroup:
    return SubGroup("", None, (SubGroup("default", least),))


TREES = {
    "one pod by default": ({}, plain(1)),
    "a gang": ({"minMember": 4}, plain(4)),
    "all elastic": ({"minMember": 0}, plain(0)),
    "parts in order of name, parents in lower case": (
        {
            "minSubGroup": 1,
            "subGroups": [
                {"name": "b", "minMember": 2, "parent": "A"},
                {"name": "a", "minSubGroup": 1},
                {"name": "c"},
            ],
        },
        SubGroup("", 1, (SubGroup("a", 1, (SubGroup("b", 2),)), SubGroup("c", 0))),
    ),
    "an unknown parent": ({"minMember": 3, "subGroups": [{"name": "a", "parent": "z"}]}, plain(1)),
    "a name twice": ({"minMember": 3, "subGroups": [{"name": "a"}, {"name": "a"}]}, plain(1)),
    "constraints": (
        {
            "minMember": 2,
            "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack", "preferredTopologyLevel": "host"},
        },
        SubGroup("", None, (SubGroup("default", 2),), TopologyConstraint("t", "example.com/rack", "host")),
    ),
    "a constraint without a topology": ({"topologyConstraint": {"requiredTopologyLevel": "rack"}}, plain(1)),
}


@pytest.mark.parametrize("case", TREES)
def test_parts_of_pod_groups(case: str) -> None:
    written, expected = TREES[case]
    levels = [{"nodeLabel": "example.com/rack", "alias": "rack"}, {"nodeLabel": "host"}]
    topology = made("Topology", "t", api="kai.scheduler/v1alpha1", spec={"levels": levels})
    assert group_of(written, topology).root == expected


def test_topologies_list_node_labels_widest_first() -> None:
    levels = [{"nodeLabel": "zone"}, {"nodeLabel": "host"}]
    snapshot = read(made("Topology", "t", api="kai.scheduler/v1alpha1", spec={"levels": levels}), queue()).snapshot
    assert snapshot is not None
    assert snapshot.topologies == (Topology("t", ("zone", "host")),)


def test_times_of_pod_groups() -> None:
    stamps = {
        "kai.scheduler/last-start-timestamp": "2025-11-21T07:00:00Z",
        "kai.scheduler/last-eviction-timestamp": "2025-11-21T08:00:00+01:00",
        "kai.scheduler/stale-podgroup-timestamp": "yesterday",
    }
    found = group_of(
        {"preemptionDelay": "2h", "stalenessGracePeriod": "-1s"},
        creationTimestamp="2025-11-21T06:00:00Z",
        annotations=stamps,
    )
    assert (found.created, found.last_start, found.last_eviction) == (NOW - 7200, NOW - 3600, NOW - 3600)
    assert (found.stale_since, found.preemption_delay, found.staleness_grace) == (None, 7200.0, -1.0)


@pytest.mark.parametrize(
    ("backoff", "pool", "is_read"),
    [(None, "default", True), (-1, "default", True), (1, "default", False), (1, "a", True)],
)
def test_a_group_that_backs_off_is_not_read(backoff: int | None, pool: str, is_read: bool) -> None:
    status = {"schedulingConditions": [{"nodePool": pool, "transitionID": "1"}]}
    snapshot = read(group({"schedulingBackoff": backoff}, status=status), queue()).snapshot
    assert snapshot is not None
    assert len(snapshot.pod_groups) == is_read


def test_groups_are_known_by_name_alone() -> None:
    here = pod(metadata={"annotations": {"pod-group-name": "g"}, "namespace": "other"})
    snapshot = read(group(), queue(), here).snapshot
    assert snapshot is not None
    assert [each.group for each in snapshot.pods] == ["g"]


DELETED = {"deletionTimestamp": "2025-11-21T07:59:00Z"}
STATUSES = {
    "pending": ({}, {}, "Pending", "Pending"),
    "gated": ({"schedulingGates": [{"name": "a"}]}, {}, "Pending", "Gated"),
    "bound": ({"nodeName": "n"}, {}, "Pending", "Bound"),
    "pending and deleted": ({"nodeName": "n"}, DELETED, "Pending", "Releasing"),
    "running": ({"nodeName": "n"}, {}, "Running", "Running"),
    "running and deleted": ({"nodeName": "n"}, DELETED, "Running", "Releasing"),
    "deleted long ago": (
        {"nodeName": "n"},
        {"deletionTimestamp": "2025-11-21T07:57:59Z"},
        "Running",
        "StuckInReleasing",
    ),
    "succeeded": ({"nodeName": "n"}, {}, "Succeeded", "Succeeded"),
    "unknown": ({"nodeName": "n"}, {}, "Unknown", "Unknown"),
}


@pytest.mark.parametrize("case", STATUSES)
def test_states_of_pods(case: str) -> None:
    spec, metadata, phase, expected = STATUSES[case]
    assert NAMES[pod_of(spec, metadata=metadata, status={"phase": phase}).status] == expected


def test_failed_pods_are_not_watched() -> None:
    snapshot = read(pod(status={"phase": "Failed"}), queue()).snapshot
    assert snapshot is not None
    assert snapshot.pods == ()


def test_of_a_pod_that_succeeded_only_its_group_is_kept() -> None:
    metadata = {"annotations": {"pod-group-name": "g"}, "labels": {"kai.scheduler/subgroup-name": "a", "b": "c"}}
    found = pod_of({**asking({"cpu": "1"}), "nodeName": "n"}, group(), metadata=metadata, status={"phase": "Succeeded"})
    assert (found.group, found.sub_group, found.node, found.request, found.labels) == ("g", "a", None, {}, {})


def binding(spec: Any = None, **status: Any) -> dict[str, Any]:
    said = {"podName": "p", "selectedNode": "n", "selectedGPUGroups": ["one"], **(spec or {})}
    return made(
        "BindRequest", "p", api="scheduling.run.ai/v1alpha2", metadata={"namespace": "team"}, spec=said, status=status
    )


BINDINGS = {
    "stands": (binding(), ("Binding", "n", ("one",))),
    "has failed": (binding(phase="Failed"), ("Pending", None, ())),
    "has failed too often": (binding({"backoffLimit": 3}, phase="Failed", failedAttempts=3), ("Pending", None, ())),
    "may be tried again": (binding({"backoffLimit": 3}, phase="Failed", failedAttempts=2), ("Binding", "n", ("one",))),
    "names an unknown node": (binding({"selectedNode": "gone"}), ("Pending", None, ())),
}


@pytest.mark.parametrize("case", BINDINGS)
def test_bind_requests(case: str) -> None:
    request, expected = BINDINGS[case]
    found = pod_of({}, request)
    assert (NAMES[found.status], found.node, found.gpu_groups) == expected


BASE = {"cpu": 0.0, "memory": 0.0, "pods": 1.0}
SIDECAR = {"restartPolicy": "Always"}
REQUESTS = {
    "nothing": (asking({}), BASE, GpuRequest()),
    "containers add up, exactly": (
        asking({"cpu": "100m", "memory": "0.4"}, {"cpu": "0.0005", "memory": "0.4"}),
        {**BASE, "cpu": 101.0, "memory": 1.0},
        GpuRequest(),
    ),
    "whole GPUs of both makers": (
        asking({"nvidia.com/gpu": "2", "amd.com/gpu": 1}), BASE, GpuRequest(3, 1.0)
    ),
    "no GPU asked for": (asking({"nvidia.com/gpu": "0"}), BASE, GpuRequest(1, 0.0)),
    "mig": (asking({"nvidia.com/mig-2g.10gb": "2"}), BASE, GpuRequest(mig=(("nvidia.com/mig-2g.10gb", 2),))),
    "others": (
        asking({"example.com/nic": "2", "ephemeral-storage": "5", "requests.example.com/nic": "1", "intel.com/gpu": "1"}),
        {**BASE, "example.com/nic": 2000.0, "ephemeral-storage": 5.0},
        GpuRequest(),
    ),
    "the largest init container": (
        {**asking({"cpu": "1"}), "initContainers": [{"resources": {"requests": {"cpu": "3"}}}, {"resources": {"requests": {"cpu": "2"}}}]},
        {**BASE, "cpu": 3000.0},
        GpuRequest(),
    ),
    "sidecars run beside what comes after them": (
        {
            **asking({"cpu": "1"}),
            "initContainers": [
                {"resources": {"requests": {"cpu": "2"}}},
                {**SIDECAR, "resources": {"requests": {"cpu": "1"}}},
                {"resources": {"requests": {"cpu": "3"}}},
            ],
        },
        {**BASE, "cpu": 4000.0},
        GpuRequest(),
    ),
    "overhead has no GPUs": (
        asking({"cpu": "1"}, overhead={"cpu": "250m", "nvidia.com/gpu": "1"}), {**BASE, "cpu": 1250.0}, GpuRequest()
    ),
    "GPUs of init containers": (
        {**asking({"nvidia.com/gpu": 1}), "initContainers": [{"resources": {"requests": {"nvidia.com/gpu": 2}}}]},
        BASE,
        GpuRequest(2, 1.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REQUESTS)
def test_requests(case: str) -> None:
    spec, request, gpu = REQUESTS[case]
    found = pod_of(spec)
    assert (found.request, found.gpu) == (request, gpu)


PARTS = {
    "a fraction": ({"gpu-fraction": "0.5"}, GpuRequest(1, 0.5), False),
    "on several devices": ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "3"}, GpuRequest(3, 0.5), False),
    "memory": ({"gpu-memory": "20000"}, GpuRequest(1, 0.0, 20000), False),
    "memory on several devices": (
        {"gpu-memory": "20000", "gpu-fraction-num-devices": "2"}, GpuRequest(2, 0.0, 20000), False,
    ),
    "a fraction comes before memory": ({"gpu-fraction": "0.25", "gpu-memory": "20000"}, GpuRequest(1, 0.25), False),
    "more than one": ({"gpu-fraction": "1.5"}, GpuRequest(1, 1.0), False),
    "no number": ({"gpu-fraction": "half"}, GpuRequest(1, 1.0), False),
    "memory in words": ({"gpu-memory": "20Gi"}, GpuRequest(1, 1.0), False),
    "devices without a fraction": ({"gpu-fraction-num-devices": "2"}, GpuRequest(1, 1.0), False),
    "old mig": ({"nvidia.com/mig-1g.5gb": "2"}, GpuRequest(mig=(("nvidia.com/mig-1g.5gb", 2),)), True),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTS)
def test_parts_of_gpus(case: str) -> None:
    annotations, gpu, is_old = PARTS[case]
    found = pod_of(asking({"nvidia.com/gpu": 1}), metadata={"annotations": annotations})
    assert (found.gpu, found.legacy_mig) == (gpu, is_old)


GROUPS = {
    "none": ({}, ()),
    "one": ({"runai-gpu-group": "a"}, ("a",)),
    "several": ({"runai-gpu-group": "a", "runai-gpu-group/c": "c", "runai-gpu-group/b": "b"}, ("a", "b", "c")),
    "without the first": ({"runai-gpu-group/b": "b"}, ()),
}


@pytest.mark.parametrize("case", GROUPS)
def test_shared_devices(case: str) -> None:
    labels, expected = GROUPS[case]
    assert pod_of({"nodeName": "n"}, metadata={"labels": labels}).gpu_groups == expected


def test_reservation_pods_hold_no_device_and_count_as_our_own() -> None:
    labels = {"app": "kai-resource-reservation", "runai-gpu-group": "a"}
    found = pod_of({**asking({"cpu": "1", "nvidia.com/gpu": 1}), "nodeName": "n"}, metadata={"labels": labels})
    assert (found.gpu, found.gpu_groups, found.scheduler) == (GpuRequest(), (), "kai-scheduler")
    assert found.request["cpu"] == 1000.0


@pytest.mark.parametrize(("said", "expected"), [(None, "default-scheduler"), ("other", "other")])
def test_schedulers(said: str | None, expected: str) -> None:
    assert pod_of({"schedulerName": said} if said else {}).scheduler == expected


def test_where_a_pod_may_run() -> None:
    found = pod_of(
        {
            "nodeSelector": {"a": "b"},
            "tolerations": [{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoSchedule"}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
                            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]},
                        ]
                    }
                },
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "host", "labelSelector": {"matchLabels": {"x": "y"}}, "namespaces": ["other"]}
                    ]
                },
            },
            "containers": [
                {
                    "ports": [
                        {"hostPort": 80},
                        {"containerPort": 81},
                        {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"},
                    ]
                }
            ],
        },
        status={"phase": "Pending", "nominatedNodeName": "n", "qosClass": "Guaranteed"},
    )
    assert found.node_selector == {"a": "b"}
    assert found.tolerations == (Toleration("", "Exists"), Toleration("k", "Equal", "v", "NoSchedule"))
    assert found.node_affinity == (
        NodeTerm((Expression("a", "In", ("b",)),)),
        NodeTerm((), (Expression("metadata.name", "In", ("n",)),)),
    )
    assert found.anti_affinity == (PodTerm("host", (Expression("x", "In", ("y",)),), ("other",)),)
    assert found.host_ports == (("0.0.0.0", "TCP", 80), ("10.0.0.1", "UDP", 53))
    assert (found.nominated_node, found.qos_class) == ("n", "Guaranteed")


def test_namespaces_chosen_by_label_are_looked_up() -> None:
    term = {"topologyKey": "host", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "a"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = pod_of(
        {"affinity": affinity},
        made("Namespace", "one", metadata={"labels": {"team": "a"}}),
        made("Namespace", "two", metadata={"labels": {"team": "b"}}),
    )
    assert found.affinity == (PodTerm("host", (), ("one",), (Expression("team", "In", ("a",)),)),)


def mounting(**volume: Any) -> dict[str, Any]:
    return {"containers": [{"volumeMounts": [{"name": "v"}]}], "volumes": [{"name": "v", **volume}]}


CONFIG_MAPS = {
    "there": (mounting(configMap={"name": "there"}), ()),
    "missing": (mounting(configMap={"name": "gone"}), ("gone",)),
    "optional": (mounting(configMap={"name": "gone", "optional": True}), ()),
    "not mounted": ({"volumes": [{"name": "v", "configMap": {"name": "gone"}}]}, ()),
    "projected": (mounting(projected={"sources": [{"configMap": {"name": "gone"}}]}), ("gone",)),
    "a variable": (
        {"containers": [{"env": [{"name": "a", "valueFrom": {"configMapKeyRef": {"name": "gone"}}}]}]},
        ("gone",),
    ),
    "all variables": ({"initContainers": [{"envFrom": [{"configMapRef": {"name": "gone"}}]}]}, ("gone",)),
}


@pytest.mark.parametrize("case", CONFIG_MAPS)
def test_config_maps(case: str) -> None:
    spec, missing = CONFIG_MAPS[case]
    there = made("ConfigMap", "there", metadata={"namespace": "team"})
    assert pod_of(spec, there).missing_config_maps == missing
    assert pod_of(spec).missing_config_maps == ()


@pytest.mark.parametrize(
    ("volume", "missing"),
    [
        ({"persistentVolumeClaim": {"claimName": "there"}}, ()),
        ({"persistentVolumeClaim": {"claimName": "gone"}}, ("gone",)),
        ({"ephemeral": {"volumeClaimTemplate": {}}}, ("p-v",)),
    ],
)
def test_volume_claims(volume: Any, missing: tuple[str, ...]) -> None:
    there = made("PersistentVolumeClaim", "there", metadata={"namespace": "team"})
    assert pod_of(mounting(**volume), there).missing_claims == missing
    assert pod_of(mounting(**volume)).missing_claims == ()


DRIVER = "gpu.nvidia.com"


def slices(*names: str, **spec: Any) -> dict[str, Any]:
    devices = [{"name": name, "attributes": {"model": {"string": name.upper()}}} for name in names]
    said = {"driver": DRIVER, "nodeName": "n", "pool": {"name": "n", "generation": 1}, "devices": devices, **spec}
    return made("ResourceSlice", "s", api="resource.k8s.io/v1", spec=said)


def device_class(name: str, *expressions: str, **spec: Any) -> dict[str, Any]:
    said = {"selectors": [{"cel": {"expression": e}} for e in expressions], **spec}
    return made("DeviceClass", name, api="resource.k8s.io/v1", spec=said)


def claim(exactly: Any, *, status: Any = None, **metadata: Any) -> dict[str, Any]:
    about = {"namespace": "team", **metadata}
    requests = [{"name": "r", "exactly": exactly}]
    return made(
        "ResourceClaim",
        "c",
        api="resource.k8s.io/v1",
        metadata=about,
        spec={"devices": {"requests": requests}},
        status=status or {},
    )


def test_devices_their_classes_and_the_gpus_of_nodes() -> None:
    snapshot = read(
        made("Node", "n"),
        slices("a", "b"),
        device_class("all", f'device.driver == "{DRIVER}"', extendedResourceName="example.com/gpu"),
        device_class("only-a", f'device.attributes["{DRIVER}"].model == "A"'),
    ).snapshot
    assert snapshot is not None
    assert snapshot.device_classes == (DeviceClass("all", "example.com/gpu"), DeviceClass("only-a"))
    assert snapshot.nodes[0].dra_gpus == 2
    assert snapshot.devices == tuple(
        Device(DRIVER, "n", name, frozenset(of), "n", attributes={f"{DRIVER}/model": name.upper()})
        for name, of in (("a", ("all", "only-a")), ("b", ("all",)))
    )


CLAIMED = {
    "one by default": ({"deviceClassName": "gpu.nvidia.com"}, 1),
    "a count": ({"deviceClassName": "gpu.nvidia.com", "count": 3}, 3),
    "all count as one": ({"deviceClassName": "gpu.nvidia.com", "allocationMode": "All"}, 1),
    "of a class that is no GPU's by name": ({"deviceClassName": "nic"}, 0),
}


@pytest.mark.parametrize("case", CLAIMED)
def test_claimed_gpus(case: str) -> None:
    exactly, expected = CLAIMED[case]
    found = pod_of({"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]}, claim(exactly))
    assert found.gpu.dra == expected
    assert found.claims == (ClaimReference("g", "c"),)


def test_claims_of_templates_belong_to_their_owner() -> None:
    owned = claim({"deviceClassName": "gpu"}, ownerReferences=[{"kind": "Pod", "uid": "uid-p"}])
    spec = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}]}
    status = {"phase": "Pending", "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "c"}]}
    found = pod_of(spec, owned, status=status)
    assert (found.gpu.dra, found.claims) == (1, (ClaimReference("g", "c", of_template=True),))
    assert pod_of(spec).claims == (ClaimReference("g", None, of_template=True),)


def test_claims() -> None:
    result = {"driver": DRIVER, "pool": "n", "device": "a", "request": "r"}
    written = claim(
        {
            "deviceClassName": "all",
            "count": 2,
            "selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "B"'}}],
        },
        status={"allocation": {"devices": {"results": [result]}}, "reservedFor": [{"resource": "pods", "uid": "u"}]},
        labels={"kai.scheduler/queue": "q"},
    )
    snapshot = read(made("Node", "n"), slices("a", "b"), written).snapshot
    assert snapshot is not None
    asked = DeviceRequest("r", "all", 2, selected=frozenset([(DRIVER, "n", "b")]))
    assert snapshot.claims == (Claim("team", "c", (asked,), "q", Allocation(((DRIVER, "n", "a"),)), ("u",)),)


def test_the_devices_of_a_binding_are_taken_for_granted() -> None:
    result = {"driver": DRIVER, "pool": "n", "device": "a"}
    given = binding({"resourceClaimAllocations": [{"name": "g", "allocation": {"devices": {"results": [result]}}}]})
    held = pod({"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]})
    snapshot = read(made("Node", "n"), held, claim({"deviceClassName": "gpu"}), given).snapshot
    assert snapshot is not None
    (found,) = snapshot.claims
    assert (found.allocation, found.reserved_for) == (Allocation(((DRIVER, "n", "a"),)), ("uid-p",))


def zones(**rest: Any) -> dict[str, Any]:
    resources = [
        {"name": "cpu", "available": "2", "allocatable": "4"},
        {"name": "nvidia.com/gpu", "available": 1, "allocatable": 2},
    ]
    listed = [{"name": name, "type": "Node", "resources": resources} for name in ("node-10", "node-2")]
    return made(
        "NodeResourceTopology",
        "n",
        api="topology.node.k8s.io/v1alpha2",
        zones=[*listed, {"name": "s", "type": "Socket"}],
        **rest,
    )


ALIGNMENT = {
    "attributes": (
        {
            "attributes": [
                {"name": "topologyManagerPolicy", "value": "restricted"},
                {"name": "topologyManagerScope", "value": "pod"},
            ]
        },
        ("restricted", "pod"),
    ),
    "the old field": ({"topologyPolicies": ["SingleNUMANodePodLevel"]}, ("single-numa-node", "pod")),
    "nothing": ({}, ("none", "container")),
}


@pytest.mark.parametrize("case", ALIGNMENT)
def test_zones(case: str) -> None:
    written, (policy, scope) = ALIGNMENT[case]
    snapshot = read(made("Node", "n"), zones(**written)).snapshot
    assert snapshot is not None
    has = ({"cpu": 2000.0, "gpu": 1.0}, {"cpu": 4000.0, "gpu": 2.0})
    assert snapshot.nodes[0].numa == NumaTopology(policy, scope, (NumaZone("node-2", *has), NumaZone("node-10", *has)))


def test_zones_that_a_pod_was_given() -> None:
    observed = '[{"zone": "node-2", "amount": {"cpu": "2"}}]'
    found = pod_of(
        {"nodeName": "n"}, zones(), metadata={"annotations": {"kai.scheduler/numa-placement-observed": observed}}
    )
    assert found.numa_placement == (("node-2", {"cpu": 2000.0}),)
    given = binding({"predictedNUMAZones": [{"zone": "node-10", "amount": {"cpu": "1"}}]})
    assert pod_of({}, zones(), given).numa_placement == (("node-10", {"cpu": 1000.0}),)


def shard(**spec: Any) -> dict[str, Any]:
    return made("SchedulingShard", api="kai.scheduler/v1", spec=spec)


DEFAULT = Settings()
SETTINGS = {
    "defaults": (shard(), DEFAULT),
    "spread": (
        shard(placementStrategy={"gpu": "spread"}),
        replace(
            DEFAULT,
            gpu_placement="spread",
            plugins=(DEFAULT.plugins - {"gpupack", "gpusharingorder"}) | {"gpuspread"},
            actions=("allocate", "reclaim", "preempt", "stalegangeviction"),
        ),
    ),
    "k, runtimes, depth": (
        shard(
            kValue=0.5,
            minRuntime={"preemptMinRuntime": "10m", "reclaimMinRuntime": "1h"},
            queueDepthPerAction={"reclaim": 5},
        ),
        replace(
            DEFAULT,
            k_value=0.5,
            default_preempt_min_runtime=600.0,
            default_reclaim_min_runtime=3600.0,
            queue_depth={"reclaim": 5},
        ),
    ),
    "plugins and actions": (
        shard(
            plugins={"numa": {"enabled": True}, "elastic": {"enabled": False}, "sg-nodelocalgreedy": {"priority": 10}},
            actions={"consolidation": {"enabled": False}, "preempt": {"priority": 450}},
        ),
        replace(
            DEFAULT,
            plugins=(DEFAULT.plugins - {"elastic"}) | {"numa"},
            generators=("sg-multinodegang", "sg-nodelocalgreedy"),
            actions=("allocate", "preempt", "reclaim", "stalegangeviction"),
        ),
    ),
    "flags": (
        shard(
            args={
                "max-consolidation-preemptees": "4",
                "use-scheduling-signatures": "false",
                "default-staleness-grace-period": "-1s",
            }
        ),
        replace(DEFAULT, max_consolidation_preemptees=4, use_scheduling_signatures=False, staleness_grace=-1.0),
    ),
    "arguments replace": (
        shard(kValue=2, plugins={"proportion": {"arguments": {"relcaimerSaturationMultiplier": "1.5"}}}),
        replace(DEFAULT, saturation_multiplier=1.5),
    ),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_configuration(case: str) -> None:
    written, expected = SETTINGS[case]
    assert read(queue(), written).settings == expected


def test_a_shard_is_of_one_partition() -> None:
    of_pool = made("Node", "n", metadata={"labels": {"kai.scheduler/node-pool": "a100"}})
    snapshot = read(shard(partitionLabelValue="a100"), of_pool, made("Node", "m")).snapshot
    assert snapshot is not None
    assert [node.name for node in snapshot.nodes] == ["n"]
    assert Engine().is_of_pool({})


def test_now_is_the_newest_moment_of_the_objects() -> None:
    beat = made(
        "Node",
        "n",
        status={"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2025-11-21T08:00:00Z"}]},
    )
    late = pod(metadata={"creationTimestamp": "2025-11-21T07:00:00Z", "deletionTimestamp": "2025-11-21T09:00:00Z"})
    snapshot = read(beat, late, now=None).snapshot
    assert snapshot is not None
    assert snapshot.now == NOW


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}]}',
        '{"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n"}}]}',
        '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}\n{"apiVersion": "v1", "kind": "Service"}',
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n---\n---\napiVersion: v1\nkind: Secret\n",
        '{"rawObjects": {"nodes": [{"metadata": {"name": "n"}}], "pods": null}, "config": {}}',
        "{apiVersion: v1, kind: Node, metadata: {name: n}}",
    ],
)
def test_forms_of_input(text: str) -> None:
    result = read_snapshot([Source("-", text)])
    assert result.faults == ()
    assert result.snapshot is not None
    assert [node.name for node in result.snapshot.nodes] == ["n"]


def test_a_dump_of_the_engine_says_how_it_was_configured() -> None:
    text = """{"config": {"actions": "allocate, reclaim", "tiers": [{"plugins": [{"name": "proportion",
        "arguments": {"kValue": "3"}}, {"name": "sg-multinodegang"}]}]},
        "schedulerParams": {"schedulerName": "kai", "maxNumberConsolidationPreemptees": 2,
        "globalDefaultStalenessGracePeriod": 60000000000, "fullHierarchyFairness": true,
        "partitionParams": {"NodePoolLabelKey": "pool"}}, "rawObjects": {"nodes": [{"metadata": {"name": "n"}}]}}"""
    assert read_snapshot([Source("-", text)]).settings == Settings(
        actions=("allocate", "reclaim"),
        plugins=frozenset(("proportion",)),
        generators=("sg-multinodegang",),
        k_value=3.0,
        max_consolidation_preemptees=2,
        use_scheduling_signatures=False,
        allow_consolidating_reclaim=False,
        staleness_grace=60.0,
        scheduler_name="kai",
    )

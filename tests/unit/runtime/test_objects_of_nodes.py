"""The core's view of nodes, devices and zones: one row for each rule of the engine's cache."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.core.pod_constraints import Taint
from apportion_runtime.core.snapshot import (
    Allocation,
    Claim,
    ClaimReference,
    Device,
    DeviceClass,
    DeviceRequest,
    Node,
    NumaTopology,
    NumaZone,
)

from .objects import binding, group, made, pod, pod_of, queue, read


def node_of(*, name: str = "n", labels: Any = None, spec: Any = None, allocatable: Any = None, **status: Any) -> Node:
    written = made(
        "Node",
        name,
        metadata={"labels": labels or {}},
        spec=spec or {},
        status={"allocatable": allocatable or {}, **status},
    )
    (only,) = read(written).snapshot.nodes
    return only


def test_units_of_node_resources() -> None:
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
    "device memory that is not a number": (
        {"labels": {"nvidia.com/gpu.memory": "80GB"}},
        {"gpu_memory": None, "gpu_memory_synced": False},
    ),
    "too little device memory": (
        {"labels": {"nvidia.com/gpu.memory": "50"}},
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
    found = node_of(**written)
    if isinstance(expected, Node):
        assert found == expected
    else:
        assert {field: getattr(found, field) for field in expected} == expected


def test_objects_of_other_node_pools_are_skipped() -> None:
    elsewhere = {"labels": {"kai.scheduler/node-pool": "other"}}
    snapshot = read(
        made("Node", "n", metadata=elsewhere), queue("q", **elsewhere), group(name="g", **elsewhere), made("Node", "m")
    ).snapshot
    assert snapshot is not None
    assert ([n.name for n in snapshot.nodes], snapshot.queues, snapshot.pod_groups) == (["m"], (), ())


def test_pods_on_nodes_of_other_pools_are_accepted() -> None:
    elsewhere = made("Node", "n", metadata={"labels": {"kai.scheduler/node-pool": "other"}})
    assert read(elsewhere, pod({"nodeName": "n"}, status={"phase": "Running"})).faults == ()


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


def test_dra_devices_and_classes() -> None:
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


def test_template_claims_belong_to_their_pod() -> None:
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


def test_devices_of_a_bind_request_are_allocated() -> None:
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


def test_zones_assigned_to_a_pod() -> None:
    observed = '[{"zone": "node-2", "amount": {"cpu": "2"}}]'
    found = pod_of(
        {"nodeName": "n"}, zones(), metadata={"annotations": {"kai.scheduler/numa-placement-observed": observed}}
    )
    assert found.numa_placement == (("node-2", {"cpu": 2000.0}),)
    given = binding({"predictedNUMAZones": [{"zone": "node-10", "amount": {"cpu": "1"}}]})
    assert pod_of({}, zones(), given).numa_placement == (("node-10", {"cpu": 1000.0}),)

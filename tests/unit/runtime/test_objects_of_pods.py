"""The core's view of pods: one row for each rule of the engine's cache."""

from __future__ import annotations

from typing import Any

import pytest

from apportion_runtime.core.pod_constraints import Expression, NodeTerm, PodPreference, PodTerm, Toleration
from apportion_runtime.core.resources import GpuRequest
from apportion_runtime.core.status import NAMES

from .objects import asking, binding, group, made, pod, pod_of, queue, read

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
def test_pod_states(case: str) -> None:
    spec, metadata, phase, expected = STATUSES[case]
    assert NAMES[pod_of(spec, metadata=metadata, status={"phase": phase}).status] == expected


def test_failed_pods_are_skipped() -> None:
    snapshot = read(pod(status={"phase": "Failed"}), queue()).snapshot
    assert snapshot is not None
    assert snapshot.pods == ()


@pytest.mark.parametrize(("held", "words"), [(None, "no value"), ([], "none")])
def test_requests_without_containers_are_unknown(held: Any, words: str) -> None:
    (fault,) = read(pod({"containers": held})).faults
    assert (fault.kind, fault.address, fault.message) == (
        "unreadable-snapshot",
        "pod team/p",
        f"`spec.containers`: expected at least one container, found {words}",
    )


def test_succeeded_pod_keeps_only_its_group() -> None:
    metadata = {"annotations": {"pod-group-name": "g"}, "labels": {"kai.scheduler/subgroup-name": "a", "b": "c"}}
    found = pod_of({**asking({"cpu": "1"}), "nodeName": "n"}, group(), metadata=metadata, status={"phase": "Succeeded"})
    assert (found.group, found.sub_group, found.node, found.request, found.labels) == ("g", "a", None, BASE, {})


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
def test_gpu_fractions(case: str) -> None:
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


def test_reservation_pods_hold_no_device() -> None:
    labels = {"app": "kai-resource-reservation", "runai-gpu-group": "a"}
    found = pod_of({**asking({"cpu": "1", "nvidia.com/gpu": 1}), "nodeName": "n"}, metadata={"labels": labels})
    assert (found.gpu, found.gpu_groups, found.scheduler) == (GpuRequest(), (), "kai-scheduler")
    assert found.request["cpu"] == 1000.0


@pytest.mark.parametrize(("said", "expected"), [(None, "default-scheduler"), ("other", "other")])
def test_schedulers(said: str | None, expected: str) -> None:
    assert pod_of({"schedulerName": said} if said else {}).scheduler == expected


def test_node_constraints_of_a_pod() -> None:
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


def test_namespace_selectors_are_resolved() -> None:
    term = {"topologyKey": "host", "labelSelector": {}, "namespaceSelector": {"matchLabels": {"team": "a"}}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = pod_of(
        {"affinity": affinity},
        made("Namespace", "one", metadata={"labels": {"team": "a"}}),
        made("Namespace", "two", metadata={"labels": {"team": "b"}}),
    )
    assert found.affinity == (PodTerm("host", (), ("one",), (Expression("team", "In", ("a",)),)),)


def test_preferred_pod_affinity_has_a_weight() -> None:
    term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"x": "y"}}}
    affinity = {
        key: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "podAffinityTerm": term}]}
        for key, weight in (("podAffinity", 5), ("podAntiAffinity", 7))
    }
    beside = PodTerm("host", (Expression("x", "In", ("y",)),))
    assert pod_of({"affinity": affinity}).pod_preferences == (PodPreference(beside, 5), PodPreference(beside, -7))


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

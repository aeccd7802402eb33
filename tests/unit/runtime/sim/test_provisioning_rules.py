"""Outcomes of a ProvisioningRequest: rejected, pending or provisioned, as by the provider of seed 003."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from apportion_runtime.sim.provisioning.queued_pools import GpuQuota, QueuedPool, ZoneCapacity, changes
from apportion_runtime.sim.provisioning.request_checks import RequestDemand, UnmetRequest, check_request
from apportion_runtime.sim.provisioning.zone_capacity import HeldMachines, find_machines
from apportion_runtime.sim.scenario.format import NodeShape, Pool

_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
_SHAPE = NodeShape(
    {"apportion.dev/gpu-model": "l4"},
    {"cpu": "22", "memory": "88Gi", "pods": "110", "nvidia.com/gpu": "2"},
    (_TAINT,),
)


def _pool(most: int = 2000, **queued: Any) -> Pool:
    capacities = (ZoneCapacity("b", 2), ZoneCapacity("a", 1), ZoneCapacity("a", 4, 600.0))
    return Pool("dws", _SHAPE, 0, 0, most, queued=QueuedPool(**{"capacities": capacities, **queued}))


def _spec(gpus: int = 1, **more: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "1", "nvidia.com/gpu": gpus} if gpus else {"cpu": "1"}}
    return {
        "containers": [{"name": "main", "resources": resources}],
        "nodeSelector": {"cloud.google.com/gke-nodepool": "dws"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        **more,
    }


def _judge(
    spec: Mapping[str, Any], pool: Pool, count: int = 1, *, n_sets: int = 1, max_run: str | None = None
) -> RequestDemand | UnmetRequest:
    pod_set = {"count": count, "podTemplateRef": {"name": "t"}}
    parameters = {} if max_run is None else {"maxRunDurationSeconds": max_run}
    request = {"spec": {"podSets": [pod_set] * n_sets, "parameters": parameters}}
    return check_request(request, {"t": {"template": {"spec": spec}}}, [pool])


def test_pods_are_packed_on_whole_nodes() -> None:
    assert _judge(_spec(), _pool(), 5, max_run="3600") == RequestDemand("dws", 3, 6, 3600.0)
    assert _judge(_spec(gpus=2), _pool(), 5) == RequestDemand("dws", 5, 10, 7 * 86_400.0)


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        ({"spec": _spec(), "n_sets": 2}, "InvalidRequest", "supports one pod set per request; this request has 2"),
        ({"spec": _spec(gpus=0)}, "InvalidRequest", "the pods request no GPU"),
        ({"spec": _spec(), "max_run": "604801"}, "InvalidRequest", "is not between 600 and 604800 seconds"),
        ({"spec": _spec(), "max_run": "1h"}, "InvalidRequest", "`1h` is not between 600"),
        (
            {"spec": _spec(), "count": 2001},
            "InvalidRequest",
            "the pods require 1,001 nodes, but a request provides at most 1,000",
        ),
        ({"spec": _spec(gpus=3)}, "CapacityIsNotFound", "at least one pod does not fit on any node of dws"),
        ({"spec": _spec(tolerations=[])}, "CapacityIsNotFound", "the pods select no node pool"),
    ],
)
def test_impossible_request_fails_with_a_reason(said: dict[str, Any], reason: str, words: str) -> None:
    spec, count = said.pop("spec"), said.pop("count", 1)
    found = _judge(spec, _pool(region="r"), count, **said)
    assert isinstance(found, UnmetRequest)
    assert found.reason == reason
    assert words in found.message


def test_request_above_the_pool_maximum_fails() -> None:
    found = _judge(_spec(gpus=2), _pool(most=4), 5)
    assert found == UnmetRequest("CapacityIsNotFound", "the pods require 5 nodes, but node pool dws has at most 4")


def test_nodes_come_from_a_single_zone() -> None:
    pools = {"dws": _pool()}
    three = RequestDemand("dws", 3, 6, 600.0)
    assert isinstance(find_machines(three, pools, (), 0.0), UnmetRequest), (
        "there are three machines, and in no zone three"
    )
    assert find_machines(three, pools, (), 600.0) == HeldMachines("dws", "a", 3, 6)
    two = RequestDemand("dws", 2, 4, 600.0)
    assert find_machines(two, pools, (), 0.0) == HeldMachines("dws", "b", 2, 4)
    assert isinstance(find_machines(two, pools, [HeldMachines("dws", "b", 1, 2)], 0.0), UnmetRequest)


def test_regional_quota_counts_all_nodes() -> None:
    pools = {"dws": _pool(gpu_quotas=(GpuQuota(6), GpuQuota(8, 1200.0)), region="r")}
    found = find_machines(RequestDemand("dws", 2, 4, 600.0), pools, [HeldMachines("dws", "a", 2, 4)], 600.0)
    assert found == UnmetRequest("QuotaExceeded", "Quota 'NVIDIA_L4_GPUS' exceeded. Limit: 6.0 in region r.")
    assert find_machines(
        RequestDemand("dws", 2, 4, 600.0), pools, [HeldMachines("dws", "b", 2, 4)], 1200.0
    ) == HeldMachines("dws", "a", 2, 4)


def test_request_above_the_gpu_quota_is_accepted() -> None:
    assert isinstance(_judge(_spec(), _pool(gpu_quotas=(GpuQuota(2),)), 5), RequestDemand), "the quota may rise"


def test_latest_offer_applies() -> None:
    queued = QueuedPool((ZoneCapacity("a", 3), ZoneCapacity("a", 1, 60.0), ZoneCapacity("b", 2, 60.0)))
    assert [queued.nodes_in("a", at) for at in (0.0, 59.0, 60.0)] == [3, 3, 1]
    assert queued.nodes_in("b", 0.0) == 0
    assert list(changes([queued])) == [60.0]

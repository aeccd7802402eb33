"""The scheduler's configuration: its sources and the forms of objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apportion_runtime.core.snapshot import Settings
from apportion_runtime.snapshots.document_loader import Source
from apportion_runtime.snapshots.kubernetes.configuration import Engine
from apportion_runtime.snapshots.snapshot_reader import read_snapshot

from .objects import NOW, made, pod, queue, read


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


def test_shard_contains_one_partition() -> None:
    of_pool = made("Node", "n", metadata={"labels": {"kai.scheduler/node-pool": "a100"}})
    snapshot = read(shard(partitionLabelValue="a100"), of_pool, made("Node", "m")).snapshot
    assert snapshot is not None
    assert [node.name for node in snapshot.nodes] == ["n"]
    assert Engine().is_of_pool({})


def test_current_time_defaults_to_the_newest_timestamp() -> None:
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
def test_input_formats(text: str) -> None:
    result = read_snapshot([Source("-", text)])
    assert result.faults == ()
    assert result.snapshot is not None
    assert [node.name for node in result.snapshot.nodes] == ["n"]


def test_engine_dump_contains_its_configuration() -> None:
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


BELOW_MINIMUM = {
    "minRuntime.preemptMinRuntime": (
        shard(minRuntime={"preemptMinRuntime": "-5m"}),
        "`defaultPreemptMinRuntime`: `-5m` is less than the minimum of 0; using 0",
        DEFAULT,
    ),
    "minRuntime.reclaimMinRuntime": (
        shard(minRuntime={"reclaimMinRuntime": "-1s"}),
        "`defaultReclaimMinRuntime`: `-1s` is less than the minimum of 0; using 0",
        DEFAULT,
    ),
    "kValue": (
        shard(kValue=-0.5),
        "`kValue`: `-0.5` is less than the minimum of 0; using 0",
        replace(DEFAULT, k_value=0.0),
    ),
    "saturation multiplier": (
        shard(plugins={"proportion": {"arguments": {"relcaimerSaturationMultiplier": "0.5"}}}),
        "`relcaimerSaturationMultiplier`: `0.5` is less than the minimum of 1; using 1",
        DEFAULT,
    ),
}


@pytest.mark.parametrize("name", BELOW_MINIMUM)
def test_setting_below_its_minimum_is_reported_and_replaced(name: str) -> None:
    made_, message, expected = BELOW_MINIMUM[name]
    found = read(made_, queue())
    assert [(fault.address, fault.message) for fault in found.faults] == [("SchedulingShard x", message)]
    assert found.settings == expected

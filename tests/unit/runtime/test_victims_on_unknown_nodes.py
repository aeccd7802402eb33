"""A pod on a missing node: the engine never evicts it for another pod, but does so with its stale gang."""

from __future__ import annotations

from apportion_runtime.core.cycle import cycle
from apportion_runtime.core.explain.evictions import evictions
from apportion_runtime.snapshots.faults import UNKNOWN_NODE

from .objects import asking, group, made, pod, queue, read

_RUNNING = {"phase": "Running"}


def test_victim_on_an_unknown_node_is_not_useful() -> None:
    quotas = {
        "resources": {
            "gpu": {"quota": 1, "limit": -1},
            "cpu": {"quota": -1, "limit": -1},
            "memory": {"quota": -1, "limit": -1},
        }
    }
    result = read(
        made("Node", "n", status={"allocatable": {"cpu": "8", "pods": "10", "nvidia.com/gpu": "1"}}),
        queue("q", {"resources": {**quotas["resources"], "gpu": {"quota": 0, "limit": -1}}}),
        queue("other", quotas),
        group({"minMember": 2, "queue": "q"}, name="wide"),
        group({"queue": "other"}, name="asks"),
        *(
            pod(
                {**asking({"nvidia.com/gpu": 1}), "nodeName": node},
                name=node,
                metadata={"annotations": {"pod-group-name": "wide"}},
                status=_RUNNING,
            )
            for node in ("n", "gone")
        ),
        pod(asking({"nvidia.com/gpu": 1}), name="p", metadata={"annotations": {"pod-group-name": "asks"}}),
    )
    assert [fault.kind for fault in result.faults] == [UNKNOWN_NODE]
    assert result.snapshot is not None
    session = cycle(result.snapshot, result.settings)
    assert session.decided.evictions == []
    assert session.decided.binds == []


def test_stale_gang_on_unknown_nodes_is_evicted() -> None:
    stale = {"kai.scheduler/stale-podgroup-timestamp": "2025-11-21T07:00:00Z"}
    result = read(
        queue(),
        group({"minMember": 2}, annotations=stale),
        pod({"nodeName": "gone"}, metadata={"annotations": {"pod-group-name": "g"}}, status=_RUNNING),
    )
    assert result.snapshot is not None
    session = cycle(result.snapshot, result.settings)
    assert [(made.name, made.node, made.rule) for made in evictions(session)] == [("team/p", "gone", "stale-gang")]

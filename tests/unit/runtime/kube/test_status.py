"""What a user looks at: the status of queues and pod groups, and events at pods and their groups."""

from __future__ import annotations

from .memory_cluster import Memory, run_cycle
from .objects import TRAIN, node, pod, queue

NOW = 1_763_712_000.0
TREE = (queue("all", None, 4), queue("nlp", "all", 4))


def _bound_and_waiting() -> Memory:
    cluster = Memory(node("n1", 4), TRAIN, *TREE, pod("fits", "nlp", 4), pod("waits", "nlp", 1))
    run_cycle(cluster, NOW)
    fits = cluster.held["Pod", "team", "fits"]
    scheduled = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    cluster.held["Pod", "team", "fits"] = {**fits, "status": {**fits["status"], **scheduled}}
    run_cycle(cluster, NOW + 1)
    return cluster


def test_queue_status_has_usage_and_requests_and_parent_their_sum() -> None:
    cluster = _bound_and_waiting()
    nlp = cluster.held["Queue", "", "nlp"]["status"]
    assert nlp["allocated"]["nvidia.com/gpu"] == "4"
    assert nlp["requested"]["nvidia.com/gpu"] == "5"
    above = cluster.held["Queue", "", "all"]["status"]
    assert above == {**nlp, "childQueues": ["nlp"]}
    (group,) = (m for (kind, _, name), m in cluster.held.items() if kind == "PodGroup" and name.startswith("pg-waits"))
    assert group["status"]["resourcesStatus"]["requested"]["nvidia.com/gpu"] == "1"
    assert "allocated" not in group["status"]["resourcesStatus"]


def test_bound_pod_pending_pod_and_pod_group_each_have_one_event() -> None:
    cluster = _bound_and_waiting()
    run_cycle(cluster, NOW + 2)
    groups = {name for kind, _, name in cluster.held if kind == "PodGroup"}
    (waiting,) = (name for name in groups if name.startswith("pg-waits"))
    assert sorted(event[:2] for event in cluster.events) == [
        ("fits", "Scheduled"),
        (waiting, "Unschedulable"),
        ("waits", "Unschedulable"),
    ]
    told = {name: message for name, _, message in cluster.events}
    assert told["fits"] == "Successfully assigned pod team/fits to node n1"
    assert told["waits"] == told[waiting] == cluster.told["waits"]


def test_finished_pod_is_removed_from_status_of_group_and_queues() -> None:
    cluster = _bound_and_waiting()
    fits = cluster.held["Pod", "team", "fits"]
    cluster.held["Pod", "team", "fits"] = {**fits, "status": {"phase": "Succeeded"}}
    del cluster.held["Pod", "team", "waits"]
    run_cycle(cluster, NOW + 3)
    assert cluster.held["Queue", "", "nlp"]["status"] == {}
    assert cluster.held["Queue", "", "all"]["status"] == {"childQueues": ["nlp"]}

"""Seed 002: quotas of departments on ACK; jobs that are queued, change priority, borrow and are reclaimed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from apportion_cli.main import main
from apportion_runtime.engines.ack.engine import Ack
from apportion_runtime.engines.ack.model import MODEL as ACK
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.scenario.reader import read_scenario

_EXAMPLE = Path(__file__).parents[2] / "examples" / "seed-002-ack-kube-queue"
Facts = list[dict[str, Any]]
HOUR = 3600.0


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what is compiled for the example's cluster."""
    out = tmp_path_factory.mktemp("rendered")
    assert main(["compile", str(_EXAMPLE), "--out", str(out), "-q"]) == 0
    return out / "demo" / "ray"


@pytest.fixture(scope="module")
def facts(rendered: Path, tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """The facts of `apportion simulate` for the scenario: the policy and the rendered tree give the same bytes."""
    told: list[bytes] = []
    for source in (_EXAMPLE, rendered):
        file = tmp_path_factory.mktemp("seed-002") / "events.jsonl"
        arguments = ["simulate", str(source), "--scenario", str(_EXAMPLE / "scenario.yaml"), "-o", f"jsonl={file}"]
        assert main(arguments) == 0
        told.append(file.read_bytes())
    assert told[0] == told[1]
    return [json.loads(line) for line in told[0].decode().splitlines()]


def of(facts: Facts, what: str, workload: str = "") -> Facts:
    return [fact for fact in facts if fact["what"] == what and workload in ("", fact.get("workload"))]


def at(facts: Facts, what: str, workload: str = "") -> list[float]:
    return [fact["at_s"] for fact in of(facts, what, workload)]


def cluster_until(moment: float, rendered: Path) -> Cluster:
    """Return the walk-through's cluster, stopped before what happens after a moment."""

    def read(name: str) -> list[dict[str, Any]]:
        return list(yaml.safe_load_all((_EXAMPLE / name).read_text()))

    objects = [
        made for file in sorted((rendered / "ack").glob("[0-9]*.yaml")) for made in yaml.safe_load_all(file.read_text())
    ]
    scenario = read_scenario((_EXAMPLE / "scenario.yaml").read_text(), read, ACK.workload_labels)
    cluster = Cluster(objects, scenario, ACK)
    while (cluster.cluster_state.events.next_at() or 0.0) <= scenario.start + moment:
        cluster.step()
    return cluster


def queue_status(cluster: Cluster, path: str) -> Any:
    """Return the positions of a quota's jobs, from the Queue that references it."""
    (found,) = (
        made
        for made in cluster.cluster_state.store.list("Queue")
        if made["metadata"]["annotations"]["kube-queue/quota-fullname"] == path
    )
    return found["status"]["queueItemDetails"]


def test_every_tree_node_has_a_queue(rendered: Path) -> None:
    cluster = cluster_until(0.0, rendered)
    queues = cluster.cluster_state.store.list("Queue")
    named = {made["metadata"]["annotations"]["kube-queue/quota-fullname"]: made["metadata"] for made in queues}
    assert sorted(named) == [
        "root", "root/algorithm", "root/algorithm/intern-text", "root/algorithm/intern-video", "root/algorithm/text",
        "root/algorithm/video", "root/devops", "root/infrastructure", "root/infrastructure/infrastructure-devops",
    ]  # fmt: skip
    text = named["root/algorithm/text"]
    assert re.fullmatch(r"root-algorithm-text-[bcdfghjklmnpqrstvwxz2456789]{5}", text["name"])
    assert text["generateName"] == "root-algorithm-text-"
    assert text["labels"] == {"create-by-kubequeue": "true"}
    assert text["annotations"]["kube-queue/parent-quota-fullname"] == "algorithm"
    assert named["root/algorithm/video"]["name"] == "video-by-priority"
    tree = cluster.cluster_state.store.get("ElasticQuotaTree", "kube-system", "elasticquotatree")
    assert tree is not None
    leaves = {leaf["name"]: leaf for node in tree["spec"]["root"]["children"] for leaf in node.get("children", [])}
    video = leaves["video"]
    assert video["namespaces"] == ["video"]
    assert video["min"] == {"cpu": "12", "memory": "12Gi", "nvidia.com/gpu": "2"}
    assert video["max"] == {"cpu": "14", "memory": "14Gi", "nvidia.com/gpu": "4"}


def test_first_job_starts_and_second_waits(facts: Facts, rendered: Path) -> None:
    cluster = cluster_until(3.0, rendered)
    first, second = (
        cluster.cluster_state.store.get("RayJob", "video", f"rayjob-video-{name}") for name in ("g2lvn", "h4x2q")
    )
    assert first is not None
    assert second is not None
    assert first["metadata"]["annotations"]["kube-queue/job-dequeue-timestamp"] == (
        "2025-01-10 01:36:24 +0000 UTC m=+0.000000000"
    )
    assert first["spec"]["suspend"] is False
    assert second["metadata"]["annotations"] == {
        "kube-queue/job-enqueue-timestamp": "2025-01-10 01:36:25 +0000 UTC m=+1.000000000"
    }
    assert second["spec"]["suspend"] is True
    assert queue_status(cluster, "root/algorithm/video") == {
        "active": [],
        "backoff": [{"name": "rayjob-video-h4x2q-ray-qu", "namespace": "video", "position": 1, "priority": 0}],
    }
    unit = cluster.cluster_state.store.get("QueueUnit", "video", "rayjob-video-h4x2q-ray-qu")
    assert unit is not None
    assert unit["spec"]["resource"] == {"cpu": "12000m", "memory": "12000000000"}, "a head and twice a worker"
    assert of(facts, "backoff", "rayjob-video-h4x2q")[0]["why"].startswith(
        "Insufficient quota(cpu) in quota root/algorithm/video: request 12, max 14, used 12"
    )


def test_jump_and_priority_change_the_order(facts: Facts) -> None:
    assert of(facts, "priority")[0]["why"].startswith("from 0 to 500, rank 1 of 3; ")
    assert of(facts, "jumped")[0]["why"].startswith("from 0 to 501, rank 1 of 3; ")
    names = [fact["workload"] for fact in of(facts, "dequeued") if fact["at_s"] < HOUR]
    assert names == [f"rayjob-video-{name}" for name in ("g2lvn", "urgent", "late", "h4x2q")]


def test_cluster_holds_quota_until_its_ttl(facts: Facts) -> None:
    done, gone = at(facts, "done", "rayjob-video-g2lvn"), at(facts, "finished", "rayjob-video-g2lvn")
    assert gone == [done[0] + 10.0]
    assert at(facts, "dequeued", "rayjob-video-urgent") == gone


def test_unschedulable_gang_is_requeued(facts: Facts) -> None:
    failed = of(facts, "GangFailedScheduling", "rayjob-sample")
    first = [fact for fact in failed if fact["at_s"] == 5460.0]
    assert len(first) == 15, "the head and fourteen workers, none of which got a place"
    assert {fact["why"] for fact in first} == {
        f"{fact['pod']} in gang failed to be scheduled in cycle 1: 0/9 nodes are available: 3 Insufficient cpu, "
        "6 node(s) had untolerated taint(s)."
        for fact in first
    }
    assert at(facts, "requeued", "rayjob-sample") == [5760.0, 6061.0, 6363.0], "after five minutes each"
    assert at(facts, "dequeued", "rayjob-sample") == [5460.0, 5761.0, 6063.0, 6367.0], "silent for 1, 2 and 4 seconds"
    assert at(facts, "bound", "rayjob-sample") == at(facts, "finished", "rayjob-video-long") * 15


def test_text_team_borrows_up_to_its_max(facts: Facts) -> None:
    bound = [fact for fact in of(facts, "bound") if fact["queue"] == "text" and fact["at_s"] < 3.4 * HOUR]
    assert len([fact for fact in bound if fact["node"].startswith("gpu-nodes") and "worker" in fact["pod"]]) == 4
    assert of(facts, "backoff", "text-2")[0]["why"].startswith(
        "Insufficient quota(cpu) in quota root/algorithm/text: request 7, max 14, used 14"
    )


def test_interns_without_min_are_evicted_first(facts: Facts) -> None:
    evicted = [fact for fact in of(facts, "evicted") if fact["at_s"] == 3.5 * HOUR]
    assert sorted(fact["workload"] for fact in evicted) == ["intern-text", "intern-video"]
    assert {fact["by"] for fact in evicted} == {"video-now"}
    assert {fact["why"].partition(" exceeds its min, and ")[2] for fact in evicted} == {
        "root/algorithm/video is within its min"
    }
    assert at(facts, "started", "video-now") == [3.5 * HOUR + 30.0], "when their grace is over"
    assert 4.5 * HOUR < at(facts, "started", "intern-text")[1] < 4.6 * HOUR, "they come back when it is done"


def test_borrowed_quota_is_reclaimed_down_to_min(facts: Facts, rendered: Path) -> None:
    evicted = [fact for fact in of(facts, "evicted") if fact["at_s"] == 5 * HOUR]
    assert [(fact["workload"], fact["by"]) for fact in evicted] == [("text-1", "video-again")] * 2
    cluster = cluster_until(5 * HOUR + 40.0, rendered)
    assert isinstance(cluster.engine, Ack)
    used = cluster.engine.scheduler.members.used
    assert used["root/algorithm/text"]["nvidia.com/gpu"] == 2, "its min"
    assert used["root/algorithm/video"]["nvidia.com/gpu"] == 2


def test_every_workload_finishes(facts: Facts) -> None:
    assert {fact["why"] for fact in of(facts, "finished")} == {"succeeded"}
    assert len(of(facts, "finished")) == len(of(facts, "arrived")) == 13

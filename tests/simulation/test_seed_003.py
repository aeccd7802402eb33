"""Seed 003 on the simulated cluster: Kueue's queue, provisioning requests, and nodes with a limited lifetime."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from apportion_cli.main import main

_EXAMPLE = Path(__file__).parents[2] / "examples" / "seed-003-gke-dws"
Facts = list[dict[str, Any]]


def _simulate(folder: Path) -> tuple[str, str]:
    events, summary = folder / "events.jsonl", folder / "summary.json"
    arguments = ["simulate", str(_EXAMPLE), "--scenario", str(_EXAMPLE / "scenario.yaml")]
    assert main([*arguments, "-o", f"jsonl={events}", "-o", f"json={summary}"]) == 0
    return events.read_text(), summary.read_text()


@pytest.fixture(scope="module")
def seed_003(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return _simulate(tmp_path_factory.mktemp("seed-003"))


@pytest.fixture(scope="module")
def facts(seed_003: tuple[str, str]) -> Facts:
    return [json.loads(line) for line in seed_003[0].splitlines()]


def _at(facts: Facts, what: str, workload: str = "", *, why: str = "") -> list[float]:
    return [
        fact["at_s"]
        for fact in facts
        if fact["what"] == what and fact.get("workload", "") == workload and why in fact.get("why", "")
    ]


def test_job_starts_after_provisioning(facts: Facts) -> None:
    for job in ("sample-job", "train", "evaluation"):
        (requested,), (provisioned,) = _at(facts, "requested", job), _at(facts, "request-provisioned", job)
        assert _at(facts, "request-waits", job, why="CapacityIsNotFound")
        assert _at(facts, "admitted", job) == [provisioned]
        running = _at(facts, "running", job)
        assert provisioned < min(running) <= max(running) <= provisioned + 600.0
        assert provisioned - requested >= 1500.0
    assert _at(facts, "finished", "sample-job", why="succeeded")


def test_nodes_of_a_request_come_from_one_zone(facts: Facts) -> None:
    (provisioned,) = _at(facts, "request-provisioned", "train", why="8 nodes of dws-pool in europe-west4-b")
    assert provisioned == 5400.0 + 240.0, "no zone has eight before ninety minutes"
    assert len([at for at in _at(facts, "node-joined") if at == provisioned]) == 8


def test_nodes_serve_one_request(facts: Facts) -> None:
    users: dict[str, set[str]] = {}
    for fact in facts:
        if fact["what"] == "bound":
            users.setdefault(fact["node"], set()).add(fact["workload"])
    assert len(users) == 1 + 2 + 8 + 6 + 12
    assert all(len(jobs) == 1 for jobs in users.values())


def test_job_without_quota_requests_no_nodes(facts: Facts) -> None:
    (waited,) = _at(facts, "waiting", "evaluation", why="insufficient unused quota for nvidia.com/gpu in flavor l4")
    (requested,), (over,) = _at(facts, "requested", "evaluation"), _at(facts, "finished", "sample-job")
    assert (waited, requested) == (240.0, over)


def test_nodes_are_removed_at_the_maximum_runtime(facts: Facts, seed_003: tuple[str, str]) -> None:
    (provisioned,), (revoked,) = (
        _at(facts, "request-provisioned", "too-long"),
        _at(facts, "capacity-revoked", "too-long"),
    )
    assert revoked == provisioned + 1800.0
    nodes = {fact["node"] for fact in facts if fact["what"] == "bound" and fact["workload"] == "too-long"}
    gone = {fact["node"] for fact in facts if fact["what"] == "node-left" and fact["at_s"] == revoked}
    assert len(nodes) == 2
    assert nodes <= gone
    assert _at(facts, "deactivated", "too-long") == [revoked]
    assert not [at for at in _at(facts, "bound", "too-long") if at > revoked]
    # Nine minutes and 58 seconds since the last of two checkpoints, on two nodes with two GPUs.
    assert json.loads(seed_003[1])["lost_gpu_hours"] == pytest.approx(4 * (1800 - 2 - 1200) / 3600, abs=1e-3)


def test_request_waits_for_project_quota(facts: Facts) -> None:
    (waits,) = _at(
        facts, "request-waits", "too-large", why="QuotaExceeded: Quota 'NVIDIA_L4_GPUS' exceeded. Limit: 20.0"
    )
    (provisioned,) = _at(facts, "request-provisioned", "too-large", why="12 nodes of dws-pool in europe-west4-b")
    assert (waits < 6 * 3600.0, provisioned) == (True, 6 * 3600.0 + 240.0)
    assert not _at(facts, "request-failed", "too-large")
    assert _at(facts, "finished", "too-large", why="succeeded")


def test_failed_request_is_retried_three_times(facts: Facts) -> None:
    failed = _at(facts, "request-failed", "too-short", why="InvalidRequest: maxRunDurationSeconds `300` is not")
    assert [later - earlier for earlier, later in itertools.pairwise(failed)] == [70.0, 130.0, 250.0]
    assert len(_at(facts, "retried", "too-short")) == 3
    assert _at(facts, "deactivated", "too-short") == [failed[-1]]
    assert not _at(facts, "bound", "too-short")


def test_unused_booking_expires(facts: Facts) -> None:
    (provisioned,) = _at(facts, "request-provisioned", why="pi: 1 node of dws-pool")
    (expired,) = _at(facts, "booking-expired", why="pi: no pod was scheduled")
    assert expired == provisioned + 600.0
    (node,) = [f["node"] for f in facts if f["what"] == "node-joined" and f["at_s"] == provisioned]
    assert [f["node"] for f in facts if f["what"] == "node-left" and f["at_s"] == expired] == [node]
    assert not _at(facts, "bound", "pi"), "it comes when its node is gone"


def test_simulation_is_deterministic(seed_003: tuple[str, str], tmp_path: Path) -> None:
    assert _simulate(tmp_path) == seed_003

"""CronJobs: the scheduled times that create a Job."""

from __future__ import annotations

import pytest

from apportion_runtime.engines.native.model import MODEL as NATIVE
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.controllers.cron_schedule import due_times
from apportion_runtime.sim.history import History
from apportion_runtime.sim.scenario.reader import read_scenario


def run(spec: str) -> History:
    template = "{spec: {restartPolicy: Never, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}"
    text = f"""
until: 50m
nodes: [{{pool: n}}]
workloads:
  - duration: 25m
    manifest:
      apiVersion: batch/v1
      kind: CronJob
      metadata: {{name: tick, namespace: ai}}
      spec: {{schedule: "*/10 * * * *", {spec} jobTemplate: {{spec: {{completions: 1, template: {template}}}}}}}
"""
    return Cluster((), read_scenario(text, lambda name: [], NATIVE.workload_labels), NATIVE).run()


def jobs(history: History) -> list[tuple[float, str]]:
    return [(facts.arrived_s / 60, facts.outcome) for facts in history.workloads if facts.kind == "Job"]


def test_concurrency_policies_allow_and_forbid() -> None:
    allowed = jobs(run(""))
    assert [at for at, _ in allowed] == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    history = run("concurrencyPolicy: Forbid,")
    assert jobs(history) == [(0.0, "succeeded"), (30.0, "")]
    assert [fact.at_s / 60 for fact in history.facts if fact.what == "skipped"] == [10.0, 20.0, 40.0, 50.0]


def test_concurrency_policy_replace() -> None:
    replaced = jobs(run("concurrencyPolicy: Replace,"))
    # The one before the last still has its grace when the simulation ends.
    assert [outcome for _, outcome in replaced] == ["deleted"] * 4 + ["", ""]


def test_suspended_cron_job_creates_nothing() -> None:
    assert jobs(run("suspend: true,")) == []


def test_schedule_uses_its_time_zone() -> None:
    in_berlin = next(due_times("0 2 * * *", 0.0, "Europe/Berlin"))
    assert in_berlin == next(due_times("0 1 * * *", 0.0, "Etc/UTC"))
    with pytest.raises(ValueError, match="`Nowhere/At-all` is not a known time zone"):
        next(due_times("0 2 * * *", 0.0, "Nowhere/At-all"))

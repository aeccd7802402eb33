"""Kueue admits workloads up to their queue's limit, those of higher classes first.

The cluster is that of `every-engine` that Kueue runs. There are no nodes: pods of admitted Jobs stay pending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from .admission import (
    admit,
    clear,
    condition,
    is_held_back,
    is_preempted,
    may_run,
    submit,
    wait_for,
    wait_until_active,
    workload_of,
)
from .bind_output import bound_job
from .compiled_trees import POLICIES, Tree, compile_policy, installed
from .kubectl import Kubectl
from .workloads import pod

pytestmark = pytest.mark.e2e

POLICY = POLICIES / "every-engine"


@pytest.fixture(scope="module")
def cluster(
    cluster_for: Callable[[Sequence[Tree]], Kubectl], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    trees = compile_policy(POLICY, tmp_path_factory.mktemp("rendered"), "on-kueue")["on-kueue", "one"]
    cluster = cluster_for(trees)
    with installed(cluster, trees, refused=(pod("vision", scheduler=None, node="node-1"),)):
        wait_until_active(cluster)
        yield cluster
        clear(cluster)


def test_admitted_job_gets_node_labels(cluster: Kubectl) -> None:
    """Pods receive the labels and tolerations of the assigned flavor."""
    work = bound_job(POLICY, "on-kueue", "search", "--namespace", "search-batch")
    admit(cluster, work)
    made = workload_of(cluster, work)
    assert made is not None
    (assigned,) = made["status"]["admission"]["podSetAssignments"]
    assert assigned["flavors"]["nvidia.com/gpu"] == "a100"
    pods = cluster.get("job", work["metadata"]["name"], "--namespace=search-batch")["spec"]["template"]["spec"]
    assert pods["nodeSelector"]["apportion.dev/gpu-model"] == "a100"
    assert "nvidia.com/gpu" in {toleration["key"] for toleration in pods["tolerations"]}
    clear(cluster)


def test_job_above_the_limit_is_not_admitted(cluster: Kubectl) -> None:
    """Vision is limited to 16 GPUs, although others are idle: a Job of 16 is admitted, one of 17 is not."""
    within = bound_job(POLICY, "on-kueue", "vision", "--workers", "2", "--gpus", "8", "--name", "within")
    admit(cluster, within)
    clear(cluster)
    over = bound_job(POLICY, "on-kueue", "vision", "--workers", "17", "--gpus", "1", "--name", "over")
    submit(cluster, over)
    refused = wait_for(cluster, over, is_held_back, "held back")
    assert "nvidia.com/gpu in flavor a100" in condition(refused, "QuotaReserved")["message"]
    assert not may_run(cluster, over)
    clear(cluster)


def test_job_without_queue_is_refused(cluster: Kubectl) -> None:
    """The Job is rejected instead of staying pending."""
    work = bound_job(POLICY, "on-kueue", "vision")
    work["metadata"]["labels"] = {}
    answer = cluster.as_user("vera", "@lab/vision").create(work)
    assert "label kueue.x-k8s.io/queue-name is missing; set it to vision" in answer.said


def test_higher_priority_preempts_within_a_queue(cluster: Kubectl) -> None:
    """Within a queue, an urgent Job preempts a batch one."""
    options = ("--workers", "2", "--gpus", "8")
    batch = bound_job(POLICY, "on-kueue", "vision", *options, "--name", "batch")
    urgent = bound_job(POLICY, "on-kueue", "vision", *options, "--name", "urgent", "--priority-class", "urgent")
    admit(cluster, batch)
    admit(cluster, urgent)
    given_way = wait_for(cluster, batch, is_preempted, "preempted")
    assert condition(given_way, "Preempted")["reason"] == "InClusterQueue"
    assert not may_run(cluster, batch)
    clear(cluster)

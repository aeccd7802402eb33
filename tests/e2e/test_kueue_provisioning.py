"""Queued provisioning through Kueue: a Job starts only when nodes for all its pods are provisioned.

The cluster is that of the example `seed-003-gke-dws`. There is no autoscaler: the test answers requests in its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from .admission import answer_request, clear, holds_quota, is_admitted, may_run, provisioning_requests, submit, wait_for
from .bound import bound_job
from .kubectl import Kubectl, Object
from .rendered import REPOSITORY, Tree, compile_policy, installed
from .workloads import pod

pytestmark = pytest.mark.e2e

POLICY = REPOSITORY / "examples" / "seed-003-gke-dws"
_NAMESPACE = "batch"
_CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
_ANSWERED_S = 30


@pytest.fixture
def cluster(
    cluster_for: Callable[[Sequence[Tree]], Kubectl], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    trees = compile_policy(POLICY, tmp_path_factory.mktemp("rendered"))["demo", "dws"]
    cluster = cluster_for(trees)
    with installed(cluster, trees, refused=(pod(_NAMESPACE, scheduler=None, node="node-1"),)):
        cluster.must("wait", "--for=condition=Active", "clusterqueues,admissionchecks", "--all", "--timeout=60s")
        yield cluster
        clear(cluster)


@pytest.fixture
def work(cluster: Kubectl) -> Object:
    """A Job with reserved quota whose nodes are not yet provisioned."""
    made = bound_job(POLICY, "demo", "batch", "--provisioning", "dws", "--workers", "3", "--gpus", "1")
    submit(cluster, made, as_group="@acme/platform")
    waits = wait_for(cluster, made, holds_quota, "given quota")
    assert not is_admitted(waits)
    assert not may_run(cluster, made)
    return made


def test_job_starts_after_provisioning(cluster: Kubectl, work: Object) -> None:
    """One request for all pods, with the plan's class and parameters, is consumed by the Job's pods once provisioned."""
    request = _request(cluster)
    assert request["spec"]["provisioningClassName"] == "queued-provisioning.gke.io"
    assert request["spec"]["parameters"] == {"maxRunDurationSeconds": "86400"}
    (pods,) = request["spec"]["podSets"]
    assert pods["count"] == 3
    template = cluster.get("podtemplate", pods["podTemplateRef"]["name"], f"--namespace={_NAMESPACE}")["template"]
    assert template["spec"]["nodeSelector"]["apportion.dev/node-pool"] == "dws-pool"
    answer_request(cluster, request, "Provisioned")
    wait_for(cluster, work, is_admitted, "admitted")
    name = work["metadata"]["name"]
    flags = ("--for=jsonpath={.spec.suspend}=false", f"job/{name}", f"--namespace={_NAMESPACE}")
    cluster.must("wait", "--timeout=30s", *flags)
    started = cluster.get("job", name, f"--namespace={_NAMESPACE}")["spec"]["template"]
    assert started["metadata"]["annotations"][_CONSUMES] == request["metadata"]["name"]


def test_job_waits_for_provisioning(cluster: Kubectl, work: Object) -> None:
    """A failed request is retried after a backoff; until then the Job stays suspended."""
    answer_request(cluster, _request(cluster), "Failed")
    waits = wait_for(cluster, work, lambda one: _checks(one) == {"dws": "Retry"}, "waiting for a second request")
    assert not is_admitted(waits)
    assert not may_run(cluster, work)


def _checks(one: Object) -> dict[str, str]:
    return {check["name"]: check["state"] for check in one["status"].get("admissionChecks", ())}


def _request(cluster: Kubectl) -> Object:
    deadline = time.monotonic() + _ANSWERED_S
    while not (found := provisioning_requests(cluster)):
        assert time.monotonic() < deadline, "no ProvisioningRequest was made"
        time.sleep(0.2)
    (request,) = found
    return request

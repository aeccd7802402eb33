"""Queued provisioning through Kueue: a Job starts only when nodes for all its pods are provisioned.

The cluster is that of the example `seed-003-gke-dws`. The provider is a stand-in that fulfils requests with nodes of KWOK,
on which kube-scheduler binds the pods; tests of single answers give these in its place.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
import yaml

from .admission import (
    answer_request,
    clear,
    condition,
    holds_quota,
    is_admitted,
    is_held_back,
    may_run,
    provisioning_requests,
    submit,
    wait_for,
    wait_until_active,
    workloads_of,
)
from .bind_output import bound_job
from .compiled_trees import REPOSITORY, Tree, compile_policy, installed
from .conftest import BINARIES, KWOK, binaries
from .kube_scheduler import kube_scheduler
from .kubectl import Kubectl, Object
from .kwok_nodes import complete, kwok
from .pod_webhook import pod_webhook
from .queued_provider import WEBHOOK, QueuedProvider
from .scenarios import LiveScenario, by_gpus, live_scenario, running_pods
from .workloads import pod

pytestmark = pytest.mark.e2e

POLICY = REPOSITORY / "examples" / "seed-003-gke-dws"
_NAMESPACE = "batch"
_CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
_ANSWERED_S = 120
_SETTLED_S = 180
_RETRIES = "provisioningrequestconfigs.kueue.x-k8s.io"
_SHORT_BACKOFF = json.dumps({"spec": {"retryStrategy": {"backoffBaseSeconds": 1, "backoffMaxSeconds": 4}}})
"""In place of 60 seconds, which double with each repetition."""


@pytest.fixture
def cluster(
    cluster_for: Callable[[Sequence[Tree]], Kubectl], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kubectl]:
    trees = compile_policy(POLICY, tmp_path_factory.mktemp("rendered"))["demo", "dws"]
    cluster = cluster_for(trees)
    with installed(cluster, trees, refused=(pod(_NAMESPACE, scheduler=None, node="node-1"),)):
        wait_until_active(cluster, "clusterqueues,admissionchecks")
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
    assert not request["spec"].get("parameters")
    (pods,) = request["spec"]["podSets"]
    assert pods["count"] == 3
    template = cluster.get("podtemplate", pods["podTemplateRef"]["name"], f"--namespace={_NAMESPACE}")["template"]
    assert template["spec"]["nodeSelector"]["apportion.dev/node-pool"] == "dws-pool"
    answer_request(cluster, request, "Provisioned")
    wait_for(cluster, work, is_admitted, "admitted")
    name = work["metadata"]["name"]
    flags = ("--for=jsonpath={.spec.suspend}=false", f"job/{name}", f"--namespace={_NAMESPACE}")
    cluster.must("wait", "--timeout=100s", *flags)
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


@pytest.fixture
def live() -> LiveScenario:
    return live_scenario(POLICY, engine="kueue", env="demo")


@pytest.fixture
def provider(cluster: Kubectl, live: LiveScenario) -> Iterator[QueuedProvider]:
    """A provider with the scenario's pools, and what runs the pods."""
    programs = binaries(BINARIES)
    made = QueuedProvider(cluster, tuple(pool for pool in live.scenario.pools if pool.queued is not None))
    with (
        kwok(cluster, binaries(KWOK)),
        kube_scheduler(cluster, programs),
        pod_webhook(cluster, programs / "generate_cert", WEBHOOK, _NAMESPACE, made.consuming),
    ):
        try:
            yield made
        finally:
            clear(cluster)
            cluster.delete_objects(_manual_request())
            cluster.delete_objects([node for nodes in made.nodes.values() for node in nodes])


def test_seed_003_runs_as_simulated(cluster: Kubectl, provider: QueuedProvider, live: LiveScenario) -> None:
    """Requests are followed to their nodes, and each Job runs on those of its own request."""
    member = cluster.as_user("vera", "@acme/platform")

    def runs_as_at(hours: float) -> None:
        provider.at_s = hours * 3600
        wanted = by_gpus(live.simulated(provider.at_s))
        deadline = time.monotonic() + _SETTLED_S
        provider.answer()
        while (found := by_gpus(live.running(cluster, _NAMESPACE, "default"))) != wanted:
            assert time.monotonic() < deadline, (hours, found, wanted)
            provider.answer()
            time.sleep(0.3)
        _run_on_their_own_nodes(cluster, provider, live)

    def finish(job: str) -> None:
        complete(cluster, (one for one in running_pods(cluster, _NAMESPACE) if live.workload_of(one) == job))
        provider.release(job)

    for name in ("sample-job", "train", "too-long", "evaluation"):
        answer = member.create(live.workload(name))
        assert answer.accepted, answer.said
        # Kueue orders jobs by their time of creation, in whole seconds.
        time.sleep(1.01)
    wait_for(cluster, live.workload("too-long"), holds_quota, "given quota")
    wait_for(cluster, live.workload("evaluation"), is_held_back, "held back")
    runs_as_at(0.3)
    assert provider.reason("evaluation") is None
    runs_as_at(0.5)
    finish("sample-job")
    provider.revoke("too-long")
    runs_as_at(1.0)
    # Six machines in two zones: none has the eight that `train` needs.
    assert provider.reason("train") == "CapacityIsNotFound"
    wait_for(cluster, live.workload("evaluation"), holds_quota, "given quota")
    runs_as_at(1.7)
    assert provider.reason("evaluation") == "QuotaExceeded"
    finish("train")
    runs_as_at(3.4)
    finish("evaluation")
    runs_as_at(3.9)
    # A request without Kueue: its node is removed because no pod has used it, and the job arrives too late.
    assert cluster.create(*_manual_request()).accepted
    runs_as_at(4.1)
    assert [node["metadata"]["name"] for node in provider.nodes_of("pi")]
    provider.expire("pi")
    assert cluster.create(live.workload("pi")).accepted
    runs_as_at(4.9)
    # One request cannot be met until the quota of the region is raised; the other fails, also when Kueue repeats it.
    cluster.must("patch", _RETRIES, "dws", "--type=merge", "--patch", _SHORT_BACKOFF)
    for name in ("too-large", "too-short"):
        assert member.create(live.workload(name)).accepted
    runs_as_at(5.2)
    deadline = time.monotonic() + _SETTLED_S
    while _ends(cluster, live)["too-short"] != "deactivated":
        assert time.monotonic() < deadline, "too-short is not deactivated"
        provider.answer()
        time.sleep(0.3)
    assert len(provider.failed["too-short"]) == _n_facts(live, "request-failed", "too-short")
    assert provider.reason("too-large") == "QuotaExceeded"
    runs_as_at(6.1)
    finish("too-large")
    runs_as_at(7.9)
    assert _ends(cluster, live) == _simulated_ends(live)


def _manual_request() -> list[Object]:
    return list(yaml.safe_load_all((POLICY / "requests.yaml").read_text()))


def _ends(cluster: Kubectl, live: LiveScenario) -> dict[str, str]:
    """Return how each job of the scenario ended."""
    works = [live.workload(one.manifest["metadata"]["name"]) for one in live.scenario.works]
    ends = {}
    for work, found in zip(works, workloads_of(cluster, *works), strict=True):
        name, namespace = work["metadata"]["name"], work["metadata"]["namespace"]
        jobs = {one["metadata"]["name"]: one for one in cluster.get("jobs", f"--namespace={namespace}")["items"]}
        if name in jobs and condition(jobs[name], "Complete").get("status") == "True":
            ends[name] = "succeeded"
        else:
            ends[name] = "unfinished" if found is None or found["spec"].get("active", True) else "deactivated"
    return ends


def _simulated_ends(live: LiveScenario) -> dict[str, str]:
    deactivated = {fact.workload for fact in live.outcome.history.facts if fact.what == "deactivated"}
    return {name: "deactivated" if name in deactivated else outcome for name, outcome in live.outcomes().items()}


def _n_facts(live: LiveScenario, what: str, workload: str) -> int:
    return sum((fact.what, fact.workload) == (what, workload) for fact in live.outcome.history.facts)


def _run_on_their_own_nodes(cluster: Kubectl, provider: QueuedProvider, live: LiveScenario) -> None:
    for one in running_pods(cluster, _NAMESPACE):
        own = {node["metadata"]["name"] for node in provider.nodes_of(live.workload_of(one) or "")}
        assert one["spec"]["nodeName"] in own

"""A cluster with plain Kubernetes: quotas, default requests, classes and the scheduler's name."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from .compiled_trees import POLICIES, compile_policy, installed
from .kubectl import Kubectl, Object
from .teams import People, people
from .workloads import deployment, job, pod, ray_cluster, template

pytestmark = pytest.mark.e2e

_COUNTED_S = 120


@pytest.fixture(scope="module")
def who(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams on the native cluster of `policies/two-teams`, after the first status of its quotas."""
    trees = compile_policy(POLICIES / "two-teams", tmp_path_factory.mktemp("rendered"))["plain", "two"]
    with installed(kubectl, trees, refused=(_plain("alpha", node="node-1"),)):
        teams = people(kubectl)
        _wait_for_use(teams, "alpha", {"requests.cpu": "0", "requests.memory": "0", "requests.nvidia.com/gpu": "0"})
        yield teams


def _plain(namespace: str, **said: object) -> Object:
    return pod(namespace, **{"scheduler": None, **said})


def _asking(namespace: str, *, name: str = "work", **amounts: str) -> Object:
    requests = {"nvidia.com/gpu" if key == "gpu" else key: amount for key, amount in amounts.items()}
    return _plain(namespace, name=name, requests=requests)


def _used(who: People, namespace: str) -> dict[str, str]:
    status = who.of(namespace).get("resourcequota", "apportion", f"--namespace={namespace}").get("status", {})
    return dict(status.get("used", {}))


def _wait_for_use(who: People, namespace: str, wanted: dict[str, str]) -> None:
    deadline = time.monotonic() + _COUNTED_S
    while (used := _used(who, namespace)) != wanted:
        assert time.monotonic() < deadline, used
        time.sleep(0.2)


ACCEPTED: dict[str, Object] = {
    "pod": _plain("alpha"),
    "pod-with-its-class": _plain("alpha", priority_class="train"),
    "pod-up-to-the-limit": _asking("alpha", cpu="8", memory="32Gi", gpu="4"),
    "job": job("alpha", of=template(scheduler=None, restart="Never")),
    "deployment": deployment("alpha", of=template(scheduler=None)),
    "ray-cluster": ray_cluster("alpha"),
    "class-of-the-other-team": _plain("beta", priority_class="urgent"),
    "system-namespace": _plain("kube-system", priority_class="system-cluster-critical"),
    "outside": _asking("default", cpu="100"),
}


@pytest.mark.parametrize("work", [pytest.param(work, id=name) for name, work in ACCEPTED.items()])
def test_valid_workloads_are_accepted(who: People, work: Object) -> None:
    """Workloads that the policy allows are accepted without a warning."""
    answer = who.of(work["metadata"]["namespace"]).create(work, dry_run=True)
    assert answer.accepted, answer.said
    assert answer.said == ""


SCHEDULER = "schedulerName must be default-scheduler"
REFUSED: dict[str, tuple[Object, str]] = {
    "cpu-over-quota": (_asking("alpha", cpu="8500m"), "exceeded quota: apportion, requested: requests.cpu=8500m"),
    "memory-over-quota": (
        _asking("alpha", memory="33Gi"),
        "exceeded quota: apportion, requested: requests.memory=33Gi",
    ),
    "gpus-over-quota": (_asking("alpha", gpu="5"), "exceeded quota: apportion, requested: requests.nvidia.com/gpu=5"),
    "class-of-the-other-team": (_plain("alpha", priority_class="urgent"), "priority class urgent is not allowed"),
    "class-of-the-system": (
        _plain("alpha", priority_class="system-node-critical"),
        "priority class system-node-critical is not allowed",
    ),
    "job-of-a-class": (
        job("alpha", of=template(scheduler=None, priority_class="interactive", restart="Never")),
        "priority class interactive is not allowed",
    ),
    "another-scheduler": (pod("alpha"), SCHEDULER),
    "deployment-of-another-scheduler": (deployment("alpha"), SCHEDULER),
    "ray-cluster-of-another-scheduler": (ray_cluster("alpha", head=template(scheduler="volcano")), SCHEDULER),
    "node": (_plain("alpha", node="node-1"), "nodeName bypasses the scheduler"),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in REFUSED.items()])
def test_invalid_workloads_are_refused(who: People, case: tuple[Object, str]) -> None:
    """The user receives a message with the fault."""
    work, says = case
    answer = who.of(work["metadata"]["namespace"]).create(work, dry_run=True)
    assert not answer.accepted
    assert says in answer.said


def test_containers_without_requests_get_defaults(who: People) -> None:
    """Defaults for cpu and memory, which the quota counts, but not for GPUs."""
    answer = who.alpha("create", "--dry-run=server", "-o", "json", "-f", "-", stdin=json.dumps(_plain("alpha")))
    requests = answer.json()["spec"]["containers"][0]["resources"]["requests"]
    assert requests == {"cpu": "100m", "memory": "256Mi"}


def test_quota_counts_running_pods(who: People) -> None:
    """Two pods of 5 CPUs exceed a quota of 8; after the first is deleted, the second is accepted."""
    first, second = _asking("alpha", name="first", cpu="5", gpu="4"), _asking("alpha", name="second", cpu="5")
    assert who.alpha.create(first).accepted
    _wait_for_use(who, "alpha", {"requests.cpu": "5", "requests.memory": "256Mi", "requests.nvidia.com/gpu": "4"})
    assert "used: requests.cpu=5, limited: requests.cpu=8" in who.alpha.create(second).said
    who.alpha.must("delete", "--namespace=alpha", "pod", "first")
    _wait_for_use(who, "alpha", {"requests.cpu": "0", "requests.memory": "0", "requests.nvidia.com/gpu": "0"})
    assert who.alpha.create(second).accepted
    who.alpha.must("delete", "--namespace=alpha", "pod", "second")


def test_quota_excludes_forbidden_classes(who: People) -> None:
    """Pods of a forbidden class are rejected even without the admission policies."""
    binding = "pods.apportion.dev"
    kept = who.platform.get("validatingadmissionpolicybinding", binding)
    who.platform.must("delete", "validatingadmissionpolicybinding", binding)
    try:
        deadline = time.monotonic() + _COUNTED_S
        said = ""
        while "exceeded quota: apportion-forbidden-classes" not in said:
            assert time.monotonic() < deadline, said
            said = who.alpha.create(_plain("alpha", priority_class="urgent"), dry_run=True).said
            time.sleep(0.2)
    finally:
        kept["metadata"] = {key: kept["metadata"][key] for key in ("name", "labels")}
        assert who.platform.create(kept).accepted

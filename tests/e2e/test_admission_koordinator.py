"""Admission on a Koordinator cluster: users cannot use another team's quota or bypass quotas; valid workloads pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from .kubectl import Kubectl, Object
from .quota_cases import accepted, refused, teams_of
from .teams import People
from .workloads import config_map, deployment, job, owned, pod, ray_cluster, stateful_set, template

pytestmark = pytest.mark.e2e

KOORDINATOR = "koord-scheduler"
QUOTA = "quota.scheduling.koordinator.sh/name"
PREEMPTIBLE = "quota.scheduling.koordinator.sh/preemptible"


@pytest.fixture(scope="module")
def who(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams, once the policies are in force."""
    waits = (pod("default", {QUOTA: "alpha"}, scheduler=None), _pod("alpha", {QUOTA: "beta"}))
    with teams_of("koordinator", kubectl, tmp_path_factory.mktemp("rendered"), waits) as who:
        yield who


def _pod(namespace: str, labels: Mapping[str, str] | None = None, **said: object) -> Object:
    return pod(namespace, labels, **{"scheduler": KOORDINATOR, **said})


def _template(labels: Mapping[str, str] | None = None, **said: object) -> Object:
    return template(labels, **{"scheduler": KOORDINATOR, **said})


PROTECTED = {PREEMPTIBLE: "false"}

ACCEPTED: dict[str, Object] = {
    "pod": _pod("alpha"),
    "pod-that-names-its-quota": _pod("alpha", {QUOTA: "alpha"}),
    "pod-with-gpus": _pod("alpha", requests={"nvidia.com/gpu": "2"}),
    "pod-of-a-controller": owned(_pod("alpha", {QUOTA: "alpha"})),
    "job": job("alpha", of=_template({QUOTA: "alpha"}, restart="Never")),
    "deployment": deployment("alpha", of=_template()),
    "stateful-set": stateful_set("alpha", of=_template()),
    "ray-cluster": ray_cluster("alpha", head=_template(), worker=_template({QUOTA: "alpha"})),
    "class": _pod("alpha", priority_class="batch"),
    "class-that-is-not-preemptible": _pod("beta", PROTECTED, priority_class="serving"),
    "outside": pod("default", scheduler=None),
    "outside-in-the-default-quota": pod("default", {QUOTA: "koordinator-default-quota"}, scheduler=None),
    "config-map": config_map("alpha", {"app": "work"}),
}


@pytest.mark.parametrize("work", [pytest.param(work, id=name) for name, work in ACCEPTED.items()])
def test_valid_workloads_are_accepted(who: People, work: Object) -> None:
    accepted(who, work)


# Two policies reject it, and the API server reports the one evaluated first.
OTHER = "references beta; "
UNCOUNTED = "because no quota covers them"

REFUSED: dict[str, tuple[Object, str]] = {
    "pod-of-another-quota": (_pod("alpha", {QUOTA: "beta"}), OTHER),
    "pod-of-an-inner-quota": (_pod("alpha", {QUOTA: "research"}), "references research"),
    "pod-of-the-default-quota": (_pod("alpha", {QUOTA: "koordinator-default-quota"}), "references koordinator-default"),
    "job-of-another-quota": (job("alpha", of=_template({QUOTA: "beta"}, restart="Never")), OTHER),
    "label-of-another-quota-on-any-object": (config_map("alpha", {QUOTA: "beta"}), "references beta"),
    "class-of-another-team": (_pod("alpha", priority_class="serving"), "is not allowed in namespace alpha"),
    "class-that-is-not-preemptible-without-a-word": (
        _pod("beta", priority_class="serving"),
        "is missing: class serving requires false",
    ),
    "protection-against-the-class": (
        _pod("alpha", PROTECTED, priority_class="batch"),
        "does not match any priority class",
    ),
    "pod-with-a-part-of-a-gpu": (_pod("alpha", requests={"koordinator.sh/gpu-core": "50"}), UNCOUNTED),
    "pod-with-batch-cpu": (_pod("alpha", requests={"kubernetes.io/batch-cpu": "1000"}), UNCOUNTED),
    "deployment-with-batch-memory": (
        deployment("alpha", of=_template(requests={"kubernetes.io/batch-memory": "1Gi"})),
        UNCOUNTED,
    ),
    "ray-cluster-with-a-part-of-a-gpu": (
        ray_cluster("alpha", worker=_template(requests={"koordinator.sh/gpu-memory-ratio": "50"}), head=_template()),
        UNCOUNTED,
    ),
    "pod-of-the-default-scheduler": (
        _pod("alpha", scheduler=None),
        "schedulerName must be koord-scheduler in namespace alpha",
    ),
    "outside-in-a-quota": (pod("default", {QUOTA: "alpha"}, scheduler=None), "does not belong to any queue"),
}


@pytest.mark.parametrize(("work", "says"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_invalid_workloads_are_refused(who: People, work: Object, says: str) -> None:
    refused(who, work, says)

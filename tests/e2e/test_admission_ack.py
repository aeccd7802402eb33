"""Admission on an ACK cluster: users cannot use another team's quota or bypass kube-queue; valid workloads pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from .kubectl import Kubectl, Object
from .quota_cases import accepted, refused, teams_of
from .teams import People
from .workloads import config_map, cron_job, deployment, job, owned, pod, ray_cluster, ray_job, template

pytestmark = pytest.mark.e2e

QUOTA = "quota.scheduling.alibabacloud.com/name"
OTHER_QUOTA = "quota.scheduling.koordinator.sh/name"
PREEMPTIBLE = "quota.scheduling.alibabacloud.com/preemptible"


@pytest.fixture(scope="module")
def who(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams, once the policies are in force."""
    waits = (pod("default", {QUOTA: "alpha"}, scheduler=None), _pod("alpha", {QUOTA: "beta"}))
    with teams_of("ack", kubectl, tmp_path_factory.mktemp("rendered"), waits) as who:
        yield who


def _pod(namespace: str, labels: Mapping[str, str] | None = None, **said: object) -> Object:
    return pod(namespace, labels, **{"scheduler": None, **said})


def _template(labels: Mapping[str, str] | None = None, **said: object) -> Object:
    return template(labels, **{"scheduler": None, **said})


def _with(made: Object, **spec: object) -> Object:
    return {**made, "spec": {**made["spec"], **spec}}


def _job(namespace: str, labels: Mapping[str, str] | None = None) -> Object:
    return _with(job(namespace, labels, of=_template(restart="Never")), suspend=True)


def _ray_job(**spec: object) -> Object:
    made = ray_job("alpha", head=_template(), worker=_template())
    return _with(made, **{"suspend": True, "shutdownAfterJobFinishes": True, **spec})


def _cron_job(*, suspend: bool) -> Object:
    made = cron_job("alpha", of=_template(restart="Never"))
    held = {"suspend": suspend, **made["spec"]["jobTemplate"]["spec"]}
    return _with(made, jobTemplate={"spec": held})


ACCEPTED: dict[str, Object] = {
    "pod": _pod("alpha"),
    "pod-that-names-its-quota": _pod("alpha", {QUOTA: "alpha"}),
    "pod-that-names-its-quota-by-the-other-label": _pod("alpha", {OTHER_QUOTA: "alpha"}),
    "job-that-is-suspended": _job("alpha"),
    "job-that-names-its-quota": _job("alpha", {QUOTA: "alpha"}),
    "job-of-a-controller": owned(job("alpha", of=_template(restart="Never"))),
    "cron-job-of-suspended-jobs": _cron_job(suspend=True),
    "ray-job-that-is-suspended": _ray_job(),
    "ray-cluster": ray_cluster("alpha", head=_template(), worker=_template()),
    "deployment": deployment("alpha", of=_template()),
    "class": _pod("alpha", priority_class="batch"),
    "class-that-is-not-preemptible": _pod("beta", {PREEMPTIBLE: "false"}, priority_class="serving"),
    "outside": pod("default", scheduler=None),
    "config-map": config_map("alpha", {"app": "work"}),
}


@pytest.mark.parametrize("work", [pytest.param(work, id=name) for name, work in ACCEPTED.items()])
def test_valid_workloads_are_accepted(who: People, work: Object) -> None:
    accepted(who, work)


# Two policies reject it, and the API server reports the one evaluated first.
OTHER = "references beta; "

REFUSED: dict[str, tuple[Object, str]] = {
    "pod-of-another-quota": (_pod("alpha", {QUOTA: "beta"}), OTHER),
    "pod-of-another-quota-by-the-other-label": (_pod("alpha", {OTHER_QUOTA: "beta"}), OTHER),
    "pod-of-an-inner-quota": (_pod("alpha", {QUOTA: "research"}), "references research"),
    "job-of-another-quota": (_job("alpha", {QUOTA: "beta"}), OTHER),
    "label-of-another-quota-on-any-object": (config_map("alpha", {OTHER_QUOTA: "beta"}), "references beta"),
    "job-that-is-not-suspended": (job("alpha", of=_template(restart="Never")), "spec.suspend must be true"),
    "cron-job-of-jobs-that-are-not": (_cron_job(suspend=False), "spec.jobTemplate.spec.suspend must be true"),
    "ray-job-that-is-not-suspended": (_ray_job(suspend=False), "spec.suspend and spec.shutdownAfterJobFinishes"),
    "ray-job-whose-cluster-stays": (_ray_job(shutdownAfterJobFinishes=False), "spec.suspend and spec.shutdown"),
    "class-of-another-team": (_pod("alpha", priority_class="serving"), "is not allowed in namespace alpha"),
    "preemptibility-against-the-class": (
        _pod("beta", {PREEMPTIBLE: "true"}, priority_class="serving"),
        "contradicts the priority class",
    ),
    "pod-of-another-scheduler": (_pod("alpha", scheduler="volcano"), "schedulerName must be default-scheduler"),
    "outside-in-a-quota": (pod("default", {OTHER_QUOTA: "alpha"}, scheduler=None), "does not belong to any queue"),
}


@pytest.mark.parametrize(("work", "says"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_invalid_workloads_are_refused(who: People, work: Object, says: str) -> None:
    refused(who, work, says)

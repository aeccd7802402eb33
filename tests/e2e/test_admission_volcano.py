"""Admission on a Volcano cluster: users cannot use another team's queue or class; valid workloads pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from .kubectl import Kubectl, Object
from .quota_cases import accepted, refused, teams_of
from .teams import People
from .workloads import config_map, deployment, job, owned, pod, ray_cluster, template

pytestmark = pytest.mark.e2e

VOLCANO = "volcano"
ANNOTATION = "scheduling.volcano.sh/queue-name"
LABEL = "volcano.sh/queue-name"
PREEMPTABLE = "volcano.sh/preemptable"
ALPHA, BETA = {ANNOTATION: "alpha"}, {ANNOTATION: "beta"}


@pytest.fixture(scope="module")
def who(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams, once the policies are in force."""
    waits = (pod("default", annotations=ALPHA, scheduler=VOLCANO), _pod("alpha", annotations=BETA))
    with teams_of("volcano", kubectl, tmp_path_factory.mktemp("rendered"), waits) as who:
        yield who


def _pod(namespace: str, labels: Mapping[str, str] | None = None, **said: object) -> Object:
    return pod(namespace, labels, **{"scheduler": VOLCANO, **said})


def _template(labels: Mapping[str, str] | None = None, **said: object) -> Object:
    return template(labels, **{"scheduler": VOLCANO, **said})


def _volcano_job(queue: str, priority_class: str = "") -> Object:
    tasks = [{"name": "main", "replicas": 1, "template": _template(restart="Never")}]
    spec = {"schedulerName": VOLCANO, "minAvailable": 1, "queue": queue, "tasks": tasks}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "work", "namespace": "alpha"},
        "spec": {**spec, "priorityClassName": priority_class} if priority_class else spec,
    }


def _pod_group(queue: str, priority_class: str = "") -> Object:
    spec = {"minMember": 1, "queue": queue}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "work", "namespace": "alpha"},
        "spec": {**spec, "priorityClassName": priority_class} if priority_class else spec,
    }


ACCEPTED: dict[str, Object] = {
    "pod": _pod("alpha", annotations=ALPHA),
    "pod-with-its-class": _pod("alpha", annotations=ALPHA, priority_class="batch"),
    "pod-of-a-class-that-is-not-preemptible": _pod(
        "beta", annotations=BETA | {PREEMPTABLE: "false"}, priority_class="serving"
    ),
    "pod-of-a-controller": owned(_pod("alpha", annotations=ALPHA)),
    "job": job("alpha", of=_template(annotations=ALPHA, restart="Never")),
    "deployment": deployment("alpha", of=_template(annotations=ALPHA)),
    "volcano-job": _volcano_job("alpha"),
    "volcano-job-with-its-class": _volcano_job("alpha", "batch"),
    "pod-group": _pod_group("alpha"),
    "ray-cluster": ray_cluster("alpha", {LABEL: "alpha"}, head=_template(), worker=_template()),
    "config-map": config_map("alpha", {"app": "work"}),
    "outside-without-a-queue": pod("default", scheduler=None),
}


@pytest.mark.parametrize("work", [pytest.param(work, id=name) for name, work in ACCEPTED.items()])
def test_valid_workloads_are_accepted(who: People, work: Object) -> None:
    accepted(who, work)


OTHER = "references beta"
CLASS = "is not allowed in namespace alpha"
REFUSED: dict[str, tuple[Object, str]] = {
    "pod-of-another-queue": (_pod("alpha", annotations=BETA), OTHER),
    "pod-without-a-queue": (_pod("alpha"), "queue"),
    "job-of-another-queue": (job("alpha", of=_template(annotations=BETA, restart="Never")), OTHER),
    "deployment-of-another-queue": (deployment("alpha", of=_template(annotations=BETA)), OTHER),
    "volcano-job-of-another-queue": (_volcano_job("beta"), OTHER),
    "volcano-job-of-an-inner-queue": (_volcano_job("research"), "references research"),
    "volcano-job-of-another-class": (_volcano_job("alpha", "serving"), CLASS),
    "pod-group-of-another-queue": (_pod_group("beta"), "queue beta is not allowed in namespace alpha"),
    "pod-group-of-another-class": (_pod_group("alpha", "serving"), CLASS),
    "ray-cluster-of-another-queue": (
        ray_cluster("alpha", {LABEL: "beta"}, head=_template(), worker=_template()),
        OTHER,
    ),
    "pod-of-another-class": (_pod("alpha", annotations=ALPHA, priority_class="serving"), CLASS),
    "class-that-is-not-preemptible-without-a-word": (
        _pod("beta", annotations=BETA, priority_class="serving"),
        PREEMPTABLE,
    ),
    "pod-of-the-default-scheduler": (_pod("alpha", annotations=ALPHA, scheduler=None), "schedulerName must be volcano"),
    "pod-on-a-node": (_pod("alpha", annotations=ALPHA, node="node-1"), "nodeName bypasses the scheduler"),
    "outside-in-a-queue": (pod("default", annotations=ALPHA, scheduler=VOLCANO), "does not belong to any queue"),
}


@pytest.mark.parametrize(("work", "says"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_invalid_workloads_are_refused(who: People, work: Object, says: str) -> None:
    refused(who, work, says)

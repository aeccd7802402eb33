"""Admission on a Kueue cluster, by the policies alone: users cannot use another team's queue or class; valid workloads pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from .kubectl import Kubectl, Object
from .quota_cases import accepted, refused, teams_of
from .teams import People
from .workloads import config_map, cron_job, deployment, job, owned, pod, ray_cluster, template

pytestmark = pytest.mark.e2e

QUEUE = "kueue.x-k8s.io/queue-name"
CLASS = "kueue.x-k8s.io/priority-class"
ALPHA, BETA = {QUEUE: "alpha"}, {QUEUE: "beta"}


@pytest.fixture(scope="module")
def who(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams, once the policies are in force; Kueue's manager does not run."""
    waits = (pod("default", ALPHA, scheduler=None), _pod("alpha", BETA))
    with teams_of("kueue", kubectl, tmp_path_factory.mktemp("rendered"), waits) as who:
        yield who


def _pod(namespace: str, labels: Mapping[str, str] | None = None, **said: object) -> Object:
    return pod(namespace, labels, **{"scheduler": None, **said})


def _template(labels: Mapping[str, str] | None = None, **said: object) -> Object:
    return template(labels, **{"scheduler": None, **said})


def _job(namespace: str, labels: Mapping[str, str], **said: object) -> Object:
    return job(namespace, labels, of=_template(restart="Never", **said))


ACCEPTED: dict[str, Object] = {
    "pod": _pod("alpha", ALPHA),
    "pod-of-a-controller": owned(_pod("alpha")),
    "job": _job("alpha", ALPHA),
    "job-with-its-class": _job("alpha", ALPHA, priority_class="batch"),
    "job-with-its-class-in-kueue": _job("alpha", ALPHA | {CLASS: "batch"}),
    "job-of-a-restricted-class": _job("beta", BETA | {CLASS: "serving"}),
    "deployment": deployment("alpha", ALPHA, of=_template(ALPHA)),
    "ray-cluster": ray_cluster("alpha", ALPHA, head=_template(), worker=_template()),
    "config-map": config_map("alpha", {"app": "work"}),
    "outside-without-a-queue": pod("default", scheduler=None),
}


@pytest.mark.parametrize("work", [pytest.param(work, id=name) for name, work in ACCEPTED.items()])
def test_valid_workloads_are_accepted(who: People, work: Object) -> None:
    accepted(who, work)


OTHER = "references beta"
REFUSED: dict[str, tuple[Object, str]] = {
    "pod-of-another-queue": (_pod("alpha", BETA), OTHER),
    "pod-without-a-queue": (_pod("alpha"), QUEUE),
    "job-of-another-queue": (_job("alpha", BETA), OTHER),
    "job-without-a-queue": (_job("alpha", {}), QUEUE),
    "cron-job-without-a-queue": (cron_job("alpha", of=_template(restart="Never")), QUEUE),
    "ray-cluster-of-another-queue": (ray_cluster("alpha", BETA, head=_template(), worker=_template()), OTHER),
    "label-of-another-queue-on-any-object": (config_map("alpha", BETA), OTHER),
    "class-of-another-team": (_job("alpha", ALPHA, priority_class="serving"), "is not allowed in namespace alpha"),
    # Two policies reject it, that of labels and that of templates; the API server reports either.
    "class-of-another-team-in-kueue": (_job("alpha", ALPHA | {CLASS: "serving"}), "namespace alpha"),
    "pod-on-a-node": (_pod("alpha", ALPHA, node="node-1"), "nodeName bypasses the scheduler"),
    "outside-in-a-queue": (pod("default", ALPHA, scheduler=None), "does not belong to any queue"),
}


@pytest.mark.parametrize(("work", "says"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_invalid_workloads_are_refused(who: People, work: Object, says: str) -> None:
    refused(who, work, says)

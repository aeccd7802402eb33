"""Admission on a YuniKorn cluster: users cannot use another team's application, queue or class; valid workloads pass.

Objects are submitted as a dry run by a member of the namespace's team, which RBAC and admission evaluate.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .compiled_trees import POLICIES, compile_policy, installed
from .kubectl import Kubectl, Object
from .teams import People, people
from .workloads import config_map, cron_job, deployment, job, owned, pod, ray_cluster, stateful_set, template

pytestmark = pytest.mark.e2e

YUNIKORN = "yunikorn"
QUEUE = "yunikorn.apache.org/queue"
APP_ID = "yunikorn.apache.org/app-id"
LAST = {"yunikorn.apache.org/allow-preemption": "false"}
ALPHA = {QUEUE: "root.research.alpha"}
BETA = {QUEUE: "root.research.beta"}
OWN = {APP_ID: "alpha.train-1"}
SPARK = {"spark-app-selector": "spark-0123456789abcdef0123456789abcdef"}


@pytest.fixture(scope="module")
def who(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams on the cluster of `policies/two-teams-yunikorn`."""
    out = tmp_path_factory.mktemp("rendered")
    trees = compile_policy(POLICIES / "two-teams-yunikorn", out)["queued", "three"]
    refused = (pod("default", scheduler=YUNIKORN), pod("alpha", BETA, scheduler=YUNIKORN))
    with installed(kubectl, trees, refused=refused):
        yield people(kubectl)


def _pod(namespace: str, labels: dict[str, str] | None = None, **said: object) -> Object:
    return pod(namespace, labels, **{"scheduler": YUNIKORN, **said})


def _template(labels: dict[str, str] | None = None, **said: object) -> Object:
    return template(labels, **{"scheduler": YUNIKORN, **said})


ACCEPTED: dict[str, Object] = {
    "pod-that-names-nothing": _pod("alpha"),
    "pod-that-names-its-queue": _pod("alpha", ALPHA),
    "pod-that-names-its-queue-in-an-annotation": _pod("alpha", annotations=ALPHA),
    "pod-with-an-application": _pod("alpha", OWN),
    "pod-with-an-application-in-an-annotation": _pod("alpha", annotations=OWN),
    "pod-of-the-application-that-yunikorn-makes": _pod("alpha", {APP_ID: "yunikorn-alpha-autogen"}),
    "pod-of-its-own-application": _pod("alpha", {APP_ID: "alpha-uniqueautogen"}),
    "pod-of-spark": _pod("alpha", SPARK),
    "pod-of-a-controller": owned(_pod("alpha", OWN)),
    "pod-with-a-label-that-means-something-else": _pod("alpha", {"queue": "emails"}),
    "job": job("alpha", of=_template(OWN, restart="Never")),
    "cron-job": cron_job("alpha", of=_template(OWN, restart="Never")),
    "deployment": deployment("alpha", of=_template(OWN)),
    "stateful-set": stateful_set("alpha", of=_template()),
    "ray-cluster": ray_cluster("alpha", ALPHA | OWN, head=_template(OWN), worker=_template()),
    "class": _pod("alpha", priority_class="batch"),
    "class-that-is-evicted-last": _pod("beta", priority_class="serving", annotations=LAST),
    "config-map": config_map("alpha", {"app": "work"}),
    "outside-without-yunikorn": pod("default", scheduler=None),
    "system-namespace": pod("kube-system", scheduler=YUNIKORN, priority_class="system-cluster-critical"),
}


@pytest.mark.parametrize("work", [pytest.param(work, id=name) for name, work in ACCEPTED.items()])
def test_valid_workloads_are_accepted(who: People, work: Object) -> None:
    """Workloads that the policy allows are accepted without a warning."""
    answer = who.of(work["metadata"]["namespace"]).create(work, dry_run=True)
    assert answer.accepted, answer.said
    assert answer.said == ""


NOT_OWN = "the application id must begin with the namespace"
OTHER = "references root.research.beta"
PREEMPTIBLE = "allow-preemption is false, but the priority class is preemptible"

REFUSED: dict[str, tuple[Object, str]] = {
    "pod-in-another-queue": (_pod("alpha", BETA), OTHER),
    "pod-in-another-queue-by-annotation": (_pod("alpha", annotations=BETA), OTHER),
    "pod-in-an-inner-queue": (_pod("alpha", {QUEUE: "root.research"}), "references root.research"),
    "pod-in-the-bare-name": (_pod("alpha", {QUEUE: "alpha"}), "references alpha"),
    "job-in-another-queue": (job("alpha", of=_template(BETA, restart="Never")), OTHER),
    "label-of-another-queue-on-any-object": (config_map("alpha", BETA), OTHER),
    "pod-of-another-application": (_pod("alpha", {APP_ID: "beta.train-1"}), NOT_OWN),
    "pod-of-any-application": (_pod("alpha", {APP_ID: "train-1"}), NOT_OWN),
    "pod-of-another-application-by-annotation": (_pod("alpha", annotations={APP_ID: "beta.train-1"}), NOT_OWN),
    "pod-of-another-application-by-the-old-label": (_pod("alpha", {"applicationId": "beta.train-1"}), NOT_OWN),
    "pod-of-another-application-by-sparks-label": (_pod("alpha", {"spark-app-selector": "beta.train-1"}), NOT_OWN),
    "pod-of-another-teams-generated-application": (_pod("alpha", {APP_ID: "yunikorn-beta-autogen"}), NOT_OWN),
    "pod-of-a-controller-of-another-application": (owned(_pod("alpha", {APP_ID: "beta.x"})), NOT_OWN),
    "job-of-another-application": (job("alpha", of=_template({APP_ID: "beta.x"}, restart="Never")), NOT_OWN),
    "deployment-of-another-application": (deployment("alpha", of=_template({APP_ID: "beta.x"})), NOT_OWN),
    "ray-cluster-of-another-application": (ray_cluster("alpha", worker=_template({APP_ID: "beta.x"})), NOT_OWN),
    "pod-of-another-class": (
        _pod("alpha", priority_class="serving"),
        "priority class serving is not allowed in namespace alpha; allowed: batch",
    ),
    "pod-that-is-evicted-last-without-a-class": (_pod("alpha", annotations=LAST), PREEMPTIBLE),
    "pod-that-is-evicted-last-against-its-class": (
        _pod("alpha", priority_class="batch", annotations=LAST),
        PREEMPTIBLE,
    ),
    "pod-of-the-default-scheduler": (
        pod("alpha", scheduler=None),
        "schedulerName must be yunikorn in namespace alpha",
    ),
    "pod-on-a-node": (_pod("alpha", node="node-1"), "nodeName bypasses the scheduler"),
    "outside-with-yunikorn": (pod("default", scheduler=YUNIKORN), "namespace default does not belong to any queue"),
    "outside-in-a-queue": (pod("default", ALPHA, scheduler=None), "namespace default does not belong to any queue"),
    "outside-in-a-queue-by-annotation": (
        pod("default", annotations=ALPHA, scheduler=None),
        "namespace default does not belong to any queue",
    ),
}


@pytest.mark.parametrize(("work", "says"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_invalid_workloads_are_refused(who: People, work: Object, says: str) -> None:
    """Workloads that the policy does not allow are rejected with a reason."""
    answer = who.of(work["metadata"]["namespace"]).create(work, dry_run=True)
    assert not answer.accepted
    assert says in answer.said


def test_only_the_platform_assigns_queues_to_namespaces(who: People, kubectl: Kubectl) -> None:
    """Users who may create namespaces, other than the platform, cannot assign one to a queue."""
    rule = ("--verb=create,get,update,patch", "--resource=namespaces")
    kubectl.must("create", "clusterrole", "namespace-makers", *rule)
    kubectl.must("create", "clusterrolebinding", "namespace-makers", "--clusterrole=namespace-makers", "--user=mia")
    try:
        mia = kubectl.as_user("mia")
        made: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}}
        assert mia.create(made, dry_run=True).accepted
        pointed = {
            **made,
            "metadata": {"name": "mine", "annotations": {"yunikorn.apache.org/parentqueue": ALPHA[QUEUE]}},
        }
        answer = mia.create(pointed, dry_run=True)
        assert not answer.accepted
        assert "only the platform team may change" in answer.said
        assert kubectl.create(pointed, dry_run=True).accepted
    finally:
        kubectl.must("delete", "clusterrolebinding", "namespace-makers")
        kubectl.must("delete", "clusterrole", "namespace-makers")

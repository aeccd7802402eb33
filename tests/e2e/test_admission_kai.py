"""Admission on a KAI cluster: users cannot use another team's queue, class or scheduler; valid workloads pass.

Objects are submitted as a dry run by a member of the namespace's team, which RBAC and admission evaluate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from .compiled_trees import POLICIES, compile_policy, installed
from .kubectl import Kubectl, Object
from .teams import People, people
from .workloads import (
    QUEUE_LABEL,
    config_map,
    cron_job,
    deployment,
    job,
    owned,
    pod,
    pod_group,
    ray_cluster,
    ray_job,
    ray_service,
    stateful_set,
    template,
)

pytestmark = pytest.mark.e2e

ALPHA = {QUEUE_LABEL: "alpha"}
BETA = {QUEUE_LABEL: "beta"}
INNER = {QUEUE_LABEL: "research"}
PREEMPTIBLE = {"kai.scheduler/preemptibility": "preemptible"}
PROTECTED = {"kai.scheduler/preemptibility": "non-preemptible"}
CLASS_LABEL = "priorityClassName"
SYSTEM = "kube-system"


@pytest.fixture(scope="module")
def who(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams on the KAI cluster of `policies/two-teams`, with the class that KAI's chart installs."""
    trees = compile_policy(POLICIES / "two-teams", tmp_path_factory.mktemp("rendered"))["queued", "one"]
    kubectl.must("create", "priorityclass", "train", "--value=50")
    try:
        with installed(kubectl, trees, refused=(pod("default", ALPHA), pod("alpha", ALPHA, node="node-1"))):
            yield people(kubectl)
    finally:
        kubectl.must("delete", "priorityclass", "train")


ACCEPTED: dict[str, Object] = {
    "pod": pod("alpha", ALPHA),
    "pod-with-its-class": pod("alpha", ALPHA, priority_class="train"),
    "pod-that-says-it-is-preemptible": pod("alpha", ALPHA | PREEMPTIBLE),
    "pod-with-a-part-of-a-gpu": pod("alpha", ALPHA, annotations={"gpu-fraction": "0.5"}),
    "pod-of-a-controller": owned(pod("alpha")),
    "job": job("alpha", ALPHA),
    "job-that-names-the-queue-on-its-pods": job("alpha", of=template(ALPHA, restart="Never")),
    "cron-job": cron_job("alpha", of=template(ALPHA, restart="Never")),
    "deployment-with-its-class": deployment("alpha", ALPHA, of=template(priority_class="train")),
    "stateful-set": stateful_set("alpha", ALPHA),
    "ray-cluster": ray_cluster("alpha", ALPHA),
    "ray-job": ray_job("alpha", ALPHA),
    "ray-service": ray_service("alpha", ALPHA),
    "ray-cluster-with-its-class": ray_cluster("alpha", ALPHA | {"ray.io/priority-class-name": "train"}),
    "class-that-needs-a-word": pod("beta", BETA | PREEMPTIBLE, priority_class="urgent"),
    "class-below-the-line-that-is-protected": pod("beta", BETA | PROTECTED, priority_class="interactive"),
    "second-namespace-of-a-queue": job("beta-serving", BETA),
    "config-map": config_map("alpha", {"app": "work"}),
    "outside-without-a-queue": pod("default", scheduler=None),
    "outside-in-the-shared-queue": pod("default", {QUEUE_LABEL: "default-queue"}),
    "system-namespace": pod(SYSTEM, ALPHA, scheduler=None, priority_class="system-cluster-critical"),
}


@pytest.mark.parametrize("work", [pytest.param(work, id=name) for name, work in ACCEPTED.items()])
def test_valid_workloads_are_accepted(who: People, work: Object) -> None:
    """Workloads that the policy allows are accepted without a warning."""
    answer = who.of(work["metadata"]["namespace"]).create(work, dry_run=True)
    assert answer.accepted, answer.said
    assert answer.said == ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Work, the policy that refuses it, and what a person reads.

    `or_labels` is what the policy on labels says of it, where that refuses it too: the API server answers with one of
    the two, now this one and now that.
    """

    work: Object
    policy: str
    says: str
    or_labels: str | None = None


def _queue(policy: str, work: Object, named: str) -> Refused:
    says = f"label {QUEUE_LABEL} references {named}; "
    return Refused(
        work, policy, f"{says}workloads in namespace alpha must use alpha", f"{says}namespace alpha may use only alpha"
    )


def _other_queue(policy: str, work: Object) -> Refused:
    return _queue(policy, work, "beta")


def _class(policy: str, work: Object, named: str = "interactive") -> Refused:
    return Refused(
        work,
        policy,
        f"priority class {named} is not allowed in namespace alpha; allowed: train",
        f" references {named}; namespace alpha may use only train",
    )


MISSING = f"label {QUEUE_LABEL} is missing; set it to alpha"
SCHEDULER = "schedulerName must be kai-scheduler in namespace alpha"

REFUSED: dict[str, Refused] = {
    "pod-in-another-queue": _other_queue("pods", pod("alpha", BETA)),
    "job-in-another-queue": _other_queue("templates", job("alpha", BETA)),
    "job-whose-pods-are-in-another-queue": _other_queue(
        "templates", job("alpha", ALPHA, of=template(BETA, restart="Never"))
    ),
    "cron-job-in-another-queue": _other_queue("cronjobs", cron_job("alpha", of=template(BETA, restart="Never"))),
    "deployment-in-another-queue": _other_queue(
        "deployments", deployment("alpha", BETA, of=template(priority_class="train"))
    ),
    "stateful-set-in-another-queue": _other_queue("templates", stateful_set("alpha", of=template(BETA))),
    "ray-cluster-in-another-queue": _other_queue("ray", ray_cluster("alpha", BETA)),
    "ray-cluster-whose-workers-are-in-another-queue": _other_queue(
        "ray", ray_cluster("alpha", ALPHA, worker=template(BETA, scheduler=None))
    ),
    "ray-job-in-another-queue": _other_queue("ray", ray_job("alpha", BETA)),
    "ray-job-whose-head-is-in-another-queue": _other_queue(
        "ray", ray_job("alpha", ALPHA, head=template(BETA, scheduler=None))
    ),
    "ray-service-whose-workers-are-in-another-queue": _other_queue(
        "ray", ray_service("alpha", ALPHA, worker=template(BETA, scheduler=None))
    ),
    "pod-of-a-controller-in-another-queue": _other_queue("pods", owned(pod("alpha", BETA))),
    "label-of-another-queue-on-any-object": Refused(
        config_map("alpha", BETA), "labels", f"label {QUEUE_LABEL} references beta; namespace alpha may use only alpha"
    ),
    "pod-in-an-inner-queue": _queue("pods", pod("alpha", INNER), "research"),
    "ray-job-in-an-inner-queue": _queue("ray", ray_job("alpha", INNER), "research"),
    "pod-in-the-shared-queue": _queue("pods", pod("alpha", {QUEUE_LABEL: "default-queue"}), "default-queue"),
    "pod-without-a-queue": Refused(pod("alpha"), "pods", MISSING),
    "job-without-a-queue": Refused(job("alpha"), "templates", MISSING),
    "cron-job-without-a-queue": Refused(cron_job("alpha"), "cronjobs", MISSING),
    "ray-cluster-without-a-queue": Refused(ray_cluster("alpha"), "ray", MISSING),
    "ray-job-without-a-queue": Refused(ray_job("alpha"), "ray", MISSING),
    "pod-of-a-class": _class("pods", pod("alpha", ALPHA, priority_class="interactive")),
    "job-of-a-class": _class(
        "templates", job("alpha", ALPHA, of=template(priority_class="urgent", restart="Never")), "urgent"
    ),
    "class-by-label": _class("pods", pod("alpha", ALPHA | {CLASS_LABEL: "interactive"})),
    "class-by-label-of-a-ray-cluster": _class(
        "ray", ray_cluster("alpha", ALPHA | {"ray.io/priority-class-name": "urgent"}), "urgent"
    ),
    "class-of-the-system": _class(
        "pods", pod("alpha", ALPHA, priority_class="system-cluster-critical"), "system-cluster-critical"
    ),
    "deployment-without-a-class": Refused(
        deployment("alpha", ALPHA), "deployments", "a priority class is required: the default, inference,"
    ),
    "pod-of-the-default-scheduler": Refused(pod("alpha", ALPHA, scheduler=None), "pods", SCHEDULER),
    "pod-of-another-scheduler": Refused(pod("alpha", ALPHA, scheduler="volcano"), "pods", SCHEDULER),
    "job-of-another-scheduler": Refused(
        job("alpha", ALPHA, of=template(scheduler="volcano", restart="Never")), "templates", SCHEDULER
    ),
    "ray-cluster-of-another-scheduler": Refused(
        ray_cluster("alpha", ALPHA, head=template(scheduler="volcano")), "ray", SCHEDULER
    ),
    "pod-of-a-controller-of-another-scheduler": Refused(owned(pod("alpha", scheduler=None)), "pods", SCHEDULER),
    "pod-on-a-node": Refused(pod("alpha", ALPHA, node="node-1"), "pods", "nodeName bypasses the scheduler"),
    "part-of-a-gpu": Refused(
        pod("beta", BETA, annotations={"gpu-fraction": "0.5"}),
        "pods",
        "workloads in namespace beta must not request a fraction of a GPU",
    ),
    "memory-of-a-gpu-in-a-ray-worker": Refused(
        ray_cluster("beta", BETA, worker=template(scheduler=None, annotations={"gpu-memory": "4096"})),
        "ray",
        "workloads in namespace beta must not request a fraction of a GPU",
    ),
    "protection-without-a-class-for-it": Refused(
        pod("alpha", ALPHA | PROTECTED), "pods", "does not match any priority class that is allowed in namespace alpha"
    ),
    "protection-against-the-class": Refused(
        pod("beta", BETA | PROTECTED, priority_class="train"), "pods", "contradicts the priority class"
    ),
    "class-that-needs-a-word-without-it": Refused(
        pod("beta", BETA, priority_class="urgent"), "pods", "class urgent requires preemptible"
    ),
    "outside-in-a-queue": Refused(
        pod("default", ALPHA), "outside", "namespace default does not belong to any queue in the policy"
    ),
    "outside-in-an-inner-queue": Refused(job("default", INNER), "outside", "does not belong to any queue"),
    "outside-label-on-any-object": Refused(config_map("default", ALPHA), "outside", "does not belong to any queue"),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in REFUSED.items()])
def test_invalid_workloads_are_refused(who: People, case: Refused) -> None:
    """The user receives a message with the fault and the correction."""
    answer = who.of(case.work["metadata"]["namespace"]).create(case.work, dry_run=True)
    assert not answer.accepted
    by_labels = case.or_labels is not None and "ValidatingAdmissionPolicy 'labels.apportion.dev'" in answer.said
    assert by_labels or f"ValidatingAdmissionPolicy '{case.policy}.apportion.dev'" in answer.said
    assert (case.or_labels if by_labels else case.says) in answer.said


GROUPS_REFUSED = {
    "another-queue": pod_group("alpha", "beta"),
    "inner-queue": pod_group("alpha", "research"),
    "no-queue": pod_group("alpha", None),
    "another-class": pod_group("alpha", "alpha", priorityClassName="interactive"),
    "protection": pod_group("alpha", "alpha", priorityClassName="train", preemptibility="non-preemptible"),
}


@pytest.mark.parametrize("group", [pytest.param(group, id=name) for name, group in GROUPS_REFUSED.items()])
def test_pod_group_of_a_forged_owner_is_refused(who: People, group: Object) -> None:
    """PodGroups that the pod grouper creates from owners' labels are subject to admission, too."""
    assert "ValidatingAdmissionPolicy 'scheduling-units.apportion.dev'" in who.platform.create(group, dry_run=True).said


def test_pod_groups_of_valid_workloads_are_accepted(who: People) -> None:
    """KAI's own controllers are accepted; outside the policy's namespaces they use only the shared queue."""
    assert who.platform.create(pod_group("alpha", "alpha", priorityClassName="train"), dry_run=True).accepted
    assert who.platform.create(pod_group("default", "default-queue"), dry_run=True).accepted
    assert "outside.apportion.dev" in who.platform.create(pod_group("default", "alpha"), dry_run=True).said


def test_team_can_create_pod_groups_in_its_queue(who: People) -> None:
    """Gangs of bare pods need a PodGroup created by the team, which is accepted like KAI's."""
    assert who.alpha.create(pod_group("alpha", "alpha", priorityClassName="train"), dry_run=True).accepted
    refused = who.alpha.create(pod_group("alpha", "beta", priorityClassName="train"), dry_run=True).said
    assert "ValidatingAdmissionPolicy 'scheduling-units.apportion.dev'" in refused

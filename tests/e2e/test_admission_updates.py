"""Updates that would be rejected on creation are rejected; all other updates are accepted."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from .compiled_trees import POLICIES, compile_policy, installed
from .kubectl import Kubectl
from .teams import People, people
from .workloads import QUEUE_LABEL, deployment, job, pod, ray_cluster, template

pytestmark = pytest.mark.e2e

ALPHA = {QUEUE_LABEL: "alpha"}
_PODS_MADE_S = 120
_PLATFORM_ROLE = "namespace-keeper"


@pytest.fixture(scope="module")
def who(kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams on the KAI cluster of `policies/two-teams`, with work of the first team on it."""
    trees = compile_policy(POLICIES / "two-teams", tmp_path_factory.mktemp("rendered"))["queued", "one"]
    kubectl.must("create", "priorityclass", "train", "--value=50")
    try:
        with installed(kubectl, trees, refused=(pod("default", ALPHA), pod("alpha", ALPHA, node="node-1"))):
            teams = people(kubectl)
            answer = teams.alpha.create(
                pod("alpha", ALPHA),
                job("alpha", ALPHA),
                deployment("alpha", ALPHA, of=template(priority_class="train")),
                ray_cluster("alpha", ALPHA),
            )
            assert answer.accepted, answer.said
            yield teams
    finally:
        kubectl.must("delete", "priorityclass", "train")


@pytest.mark.parametrize("kind", ["pod", "job", "deployment", "raycluster"])
@pytest.mark.parametrize(
    "change", [f"{QUEUE_LABEL}=beta", f"{QUEUE_LABEL}=research", f"{QUEUE_LABEL}-", "priorityClassName=urgent"]
)
def test_queue_label_is_protected(who: People, kind: str, change: str) -> None:
    """After creation, too, a change to another, an inner or no queue, or to a higher class, is rejected."""
    answer = who.alpha("label", "--overwrite", "--namespace=alpha", kind, "work", change)
    assert not answer.accepted
    assert "denied request" in answer.said


@pytest.mark.parametrize("kind", ["pod", "job", "deployment", "raycluster"])
def test_other_labels_are_not_protected(who: People, kind: str) -> None:
    """The policies check only their own labels."""
    who.alpha.must("label", "--overwrite", "--namespace=alpha", kind, "work", "stage=second")


def test_deployment_can_be_scaled(who: People) -> None:
    """Scaling and rollouts are performed by controllers, whose objects have fewer labels than the team's."""
    who.alpha.must("scale", "--namespace=alpha", "deployment/work", "--replicas=3")
    who.alpha.must("rollout", "restart", "--namespace=alpha", "deployment/work")


def test_controllers_create_pods_of_accepted_workloads(who: People) -> None:
    """Pods of Jobs and of Deployments are accepted, although they have no queue label."""
    deadline = time.monotonic() + _PODS_MADE_S
    wanted = {"Job": 1, "ReplicaSet": 2}
    made: dict[str, int] = {}
    while not all(made.get(kind, 0) >= count for kind, count in wanted.items()):
        assert time.monotonic() < deadline, f"{made}: {who.platform('get', 'events', '--namespace=alpha').out[-3000:]}"
        time.sleep(0.5)
        made = {}
        for one in who.alpha.get("pods", "--namespace=alpha")["items"]:
            for owner in one["metadata"].get("ownerReferences", ()):
                made[owner["kind"]] = made.get(owner["kind"], 0) + 1


def test_existing_workloads_can_be_changed_after_a_policy_change(who: People) -> None:
    """After a queue is removed from a namespace, updates of its objects that do not change the queue are accepted."""
    said = "apportion.dev/queues"
    who.platform.must("annotate", "--overwrite", "namespace", "alpha", f"{said}=other")
    try:
        refused = pod("alpha", ALPHA, name="later")
        deadline = time.monotonic() + _PODS_MADE_S
        # The API server reads namespaces from a cache.
        while who.alpha.create(refused, dry_run=True).accepted:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        who.alpha.must("label", "--overwrite", "--namespace=alpha", "pod", "work", "stage=third")
        who.alpha.must("scale", "--namespace=alpha", "deployment/work", "--replicas=1")
        who.alpha.must("delete", "--namespace=alpha", "job", "work")
    finally:
        who.platform.must("annotate", "--overwrite", "namespace", "alpha", f"{said}=alpha")


@pytest.fixture
def keeper(who: People) -> Iterator[Kubectl]:
    """A user, other than the platform, who may change every namespace."""
    keeper = who.platform.as_user("kim", "namespace-keepers")
    who.platform.must("create", "clusterrole", _PLATFORM_ROLE, "--verb=*", "--resource=namespaces")
    who.platform.must(
        "create", "clusterrolebinding", _PLATFORM_ROLE, f"--clusterrole={_PLATFORM_ROLE}", "--group=namespace-keepers"
    )
    yield keeper
    who.platform.must("delete", "clusterrole,clusterrolebinding", _PLATFORM_ROLE)


@pytest.mark.parametrize(
    "change",
    [
        ("label", "namespace", "alpha", "apportion.dev/queue=beta"),
        ("label", "namespace", "alpha", "apportion.dev/queue-"),
        ("annotate", "namespace", "alpha", "apportion.dev/queues=alpha,beta"),
        ("annotate", "namespace", "alpha", "apportion.dev/priority-classes-"),
        ("label", "namespace", "default", "apportion.dev/queue=alpha"),
    ],
    ids=" ".join,
)
def test_only_the_platform_assigns_queues_to_namespaces(keeper: Kubectl, change: tuple[str, ...]) -> None:
    """Permission to update namespaces does not include changing their queue."""
    answer = keeper(change[0], "--overwrite", *change[1:])
    assert not answer.accepted
    assert "only the platform team may change apportion.dev/ labels and annotations of a namespace" in answer.said


def test_only_the_platform_creates_queue_namespaces(keeper: Kubectl) -> None:
    """A user cannot claim a queue by creating a namespace for it; other namespaces are unaffected."""
    claimed = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "new", "labels": {"apportion.dev/queue": "alpha"}},
    }
    assert "only the platform" in keeper.create(claimed, dry_run=True).said
    assert keeper.create({**claimed, "metadata": {"name": "new", "labels": {"team": "alpha"}}}, dry_run=True).accepted
    keeper.must("label", "--overwrite", "namespace", "alpha", "cost-centre=7")


def test_policy_administrators_can_change_namespaces(who: People, keeper: Kubectl) -> None:
    """The emitted role suffices, together with permission to update namespaces."""
    who.platform.must(
        "create", "clusterrolebinding", "administrators", "--clusterrole=apportion-administrator", "--user=kim"
    )
    try:
        deadline = time.monotonic() + _PODS_MADE_S
        change = (
            "annotate",
            "--overwrite",
            "--dry-run=server",
            "namespace",
            "alpha",
            "apportion.dev/queues=alpha,beta",
        )
        while not (answer := keeper(*change)).accepted:
            assert time.monotonic() < deadline, answer.said
            time.sleep(0.2)
    finally:
        who.platform.must("delete", "clusterrolebinding", "administrators")

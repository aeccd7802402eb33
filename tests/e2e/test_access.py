"""RBAC limits a team to its namespaces, and permits it to view the objects that it may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .compiled_trees import POLICIES, compile_policy, installed
from .kubectl import Kubectl
from .teams import People, people
from .workloads import pod

pytestmark = pytest.mark.e2e

MAY = (
    ("alpha", "create", "pods"),
    ("alpha", "delete", "jobs.batch"),
    ("alpha", "patch", "deployments.apps"),
    ("alpha", "update", "deployments.apps/scale"),
    ("alpha", "create", "rayjobs.ray.io"),
    ("alpha", "create", "rayclusters.ray.io"),
    ("alpha", "get", "pods/log"),
    ("alpha", "create", "pods/exec"),
    ("alpha", "get", "secrets"),
    ("alpha", "list", "resourcequotas"),
    ("alpha", "get", "limitranges"),
    (None, "list", "priorityclasses.scheduling.k8s.io"),
)
MAY_NOT = (
    ("beta", "get", "pods"),
    ("beta", "list", "jobs.batch"),
    ("beta", "create", "rayjobs.ray.io"),
    ("beta", "get", "secrets"),
    ("beta", "get", "resourcequotas"),
    ("default", "create", "pods"),
    ("kube-system", "get", "secrets"),
    ("alpha", "update", "resourcequotas"),
    ("alpha", "delete", "resourcequotas"),
    ("alpha", "patch", "limitranges"),
    ("alpha", "create", "pods/binding"),
    ("alpha", "create", "bindings"),
    ("alpha", "update", "pods/status"),
    ("alpha", "create", "rolebindings.rbac.authorization.k8s.io"),
    ("alpha", "create", "roles.rbac.authorization.k8s.io"),
    ("alpha", "create", "serviceaccounts/token"),
    ("alpha", "impersonate", "serviceaccounts"),
    (None, "update", "namespaces"),
    (None, "create", "namespaces"),
    (None, "list", "secrets"),
    (None, "update", "queues.scheduling.run.ai"),
    (None, "create", "priorityclasses.scheduling.k8s.io"),
    (None, "delete", "validatingadmissionpolicybindings.admissionregistration.k8s.io"),
    (None, "update", "validatingadmissionpolicies.admissionregistration.k8s.io"),
    (None, "update", "clusterroles.rbac.authorization.k8s.io"),
    (None, "administer", "policies.apportion.dev"),
    (None, "list", "nodes"),
)


@pytest.fixture(scope="module", params=[("queued", "one"), ("plain", "two")], ids="/".join)
def who(request: pytest.FixtureRequest, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """The teams on each cluster of `policies/two-teams`."""
    trees = compile_policy(POLICIES / "two-teams", tmp_path_factory.mktemp("rendered"))[request.param]
    with installed(kubectl, trees, refused=(pod("alpha", node="node-1"),)):
        yield people(kubectl)


@pytest.mark.parametrize("right", MAY, ids=lambda right: " ".join(filter(None, right)))
def test_team_can_work_in_its_namespace(who: People, right: tuple[str | None, str, str]) -> None:
    """A team can manage workloads, and view its quotas."""
    assert _can(who.alpha, right) == "yes"


@pytest.mark.parametrize("right", MAY_NOT, ids=lambda right: " ".join(filter(None, right)))
def test_team_cannot_change_other_objects(who: People, right: tuple[str | None, str, str]) -> None:
    """A team cannot change other teams' objects, or the quotas in its own namespaces."""
    assert _can(who.alpha, right) == "no"


@pytest.mark.parametrize(
    "right",
    [
        ("alpha", "create", "podgroups.scheduling.run.ai"),
        (None, "list", "queues.scheduling.run.ai"),
        (None, "get", "topologies.kai.scheduler"),
    ],
    ids=lambda right: " ".join(filter(None, right)),
)
def test_team_can_use_only_objects_of_its_engine(
    who: People, right: tuple[str | None, str, str], request: pytest.FixtureRequest
) -> None:
    """Gangs of bare pods need a PodGroup of KAI; other engines ignore it."""
    on_kai = request.node.callspec.params["who"] == ("queued", "one")
    assert _can(who.alpha, right) == ("yes" if on_kai else "no")


def test_team_can_work_in_all_its_namespaces(who: People) -> None:
    """A queue with two namespaces gives its team both."""
    assert [_can(who.beta, (namespace, "create", "pods")) for namespace in ("beta", "beta-serving", "alpha")] == [
        "yes",
        "yes",
        "no",
    ]


def test_owners_of_inner_queues_can_only_view_queues(who: People) -> None:
    """Owners of a department have no rights in the namespaces of its teams."""
    leads = who.platform.as_user("lea", "@lab/leads")
    assert _can(leads, (None, "list", "priorityclasses.scheduling.k8s.io")) == "yes"
    assert _can(leads, ("alpha", "get", "pods")) == "no"


def _can(somebody: Kubectl, right: tuple[str | None, str, str]) -> str:
    namespace, verb, resource = right
    kind, _, subresource = resource.partition("/")
    scope = ["--all-namespaces"] if namespace is None else [f"--namespace={namespace}"]
    answer = somebody("auth", "can-i", verb, kind, *scope, *([f"--subresource={subresource}"] if subresource else []))
    return answer.out.strip().split(" ")[0]

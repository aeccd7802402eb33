"""Every tree of every policy on a real API server: accepted, stored without changes, and deleted completely."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
import yaml

from .compiled_trees import Clusters, Tree, compile_policy, delete_unused, identity, missing, policies
from .kubectl import Kubectl, Object

pytestmark = pytest.mark.e2e

_TYPES_CHECKED_S = 180


_POLICIES = [pytest.param(folder, id=f"{folder.parent.name}-{folder.name}") for folder in policies()]


@pytest.fixture(scope="module", params=_POLICIES)
def clusters(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Clusters:
    """One policy's trees."""
    return compile_policy(request.param, tmp_path_factory.mktemp("rendered"))


def test_every_object_is_stored(clusters: Clusters, cluster_for: Callable[[Sequence[Tree]], Kubectl]) -> None:
    """Each cluster, empty before and after: no error, no warning, no field lost, no object left behind.

    Where Kueue runs, every ClusterQueue becomes active: nothing that it names is missing.
    """
    for (environment, cluster), trees in clusters.items():
        where = f"{environment}/{cluster}"
        kubectl = cluster_for(trees)
        try:
            for tree in trees:
                _applies(kubectl, tree, f"{where}/{tree.target}")
                if tree.target == "kueue":
                    kubectl.must("wait", "--for=condition=Active", "clusterqueues", "--all", "--timeout=100s")
        finally:
            delete_unused(kubectl, *trees)
        for tree in trees:
            left = kubectl("get", "--ignore-not-found", "-o", "name", *(a for file in tree.files for a in ("-f", file)))
            assert left.out == "", f"{where}/{tree.target} leaves objects behind"


def _applies(kubectl: Kubectl, tree: Tree, where: str) -> None:
    answer = kubectl.apply(tree.files)
    assert answer.accepted, f"{where}: {answer.said}"
    assert answer.said == "", f"{where}: {answer.said}"
    stored = kubectl.read(tree.files)
    submitted = list(tree.objects())
    assert len(stored) == len(submitted) == len(answer.out.splitlines())
    lost = [
        f"{where}: {one['kind']} {one['metadata']['name']}{fault}"
        for one, other in zip(submitted, stored, strict=True)
        for fault in missing(one, other)
    ]
    assert lost == []
    # Applying the tree again changes nothing: no controller or default conflicts with its fields.
    kubectl.apply(tree.files)
    assert _generations(kubectl.read(tree.files)) == _generations(stored)
    _expressions_have_types(kubectl, submitted, where)


def _generations(objects: list[Object]) -> list[object]:
    return [one["metadata"].get("generation") for one in objects]


def _expressions_have_types(kubectl: Kubectl, submitted: list[Object], where: str) -> None:
    """Wait until the API server has type-checked every admission expression, and assert that it has no warnings."""
    names = [one["metadata"]["name"] for one in submitted if one["kind"] == "ValidatingAdmissionPolicy"]
    deadline = time.monotonic() + _TYPES_CHECKED_S
    while names:
        found = kubectl.get("validatingadmissionpolicies")["items"]
        statuses = {one["metadata"]["name"]: one.get("status", {}) for one in found}
        if all("typeChecking" in statuses[name] for name in names):
            warnings = {name: statuses[name]["typeChecking"].get("expressionWarnings", []) for name in names}
            assert {name: found for name, found in warnings.items() if found} == {}, where
            return
        assert time.monotonic() < deadline, f"{where}: types of {names} are not checked: {statuses}"
        time.sleep(0.5)


def test_kustomization_preserves_the_apply_order(clusters: Clusters, kubectl: Kubectl) -> None:
    """`kubectl apply -k` gets the same objects in the same order: parents before children, policies before bindings."""
    for trees in clusters.values():
        for tree in trees:
            built = list(yaml.load_all(kubectl.must("kustomize", tree.folder).out, yaml.CSafeLoader))
            submitted = list(tree.objects())
            assert list(map(identity, built)) == list(map(identity, submitted))

"""Every tree of every policy on a real API server: accepted, stored without changes, and deleted completely."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest
import yaml

from .admission import wait_until_active
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
                    wait_until_active(kubectl)
        finally:
            # It fails if an object is left behind.
            delete_unused(kubectl, *trees)


def _applies(kubectl: Kubectl, tree: Tree, where: str) -> None:
    answer = kubectl.apply(tree.files)
    assert answer.accepted, f"{where}: {answer.said}"
    assert answer.said == "", f"{where}: {answer.said}"
    stored = answer.objects()
    submitted = list(tree.objects())
    assert len(stored) == len(submitted)
    lost = [
        f"{where}: {one['kind']} {one['metadata']['name']}{fault}"
        for one, other in zip(submitted, stored, strict=True)
        for fault in missing(one, other)
    ]
    assert lost == []
    # Applying the tree again changes nothing: no controller or default conflicts with its fields.
    again = kubectl.apply(tree.files).objects()
    assert _generations(again) == _generations(stored)
    _expressions_have_types(kubectl, again, where)


def _generations(objects: list[Object]) -> list[object]:
    return [one["metadata"].get("generation") for one in objects]


def _expressions_have_types(kubectl: Kubectl, stored: list[Object], where: str) -> None:
    """Wait until the API server has type-checked every admission expression, and assert that it has no warnings."""
    policies = [one for one in stored if one["kind"] == "ValidatingAdmissionPolicy"]
    names = [one["metadata"]["name"] for one in policies]
    deadline = time.monotonic() + _TYPES_CHECKED_S
    while not all("typeChecking" in one.get("status", {}) for one in policies):
        assert time.monotonic() < deadline, f"{where}: types of {names} are not checked"
        time.sleep(0.1)
        found = kubectl.get("validatingadmissionpolicies", *names)
        policies = found["items"] if found["kind"] == "List" else [found]
    warnings = {
        one["metadata"]["name"]: one["status"]["typeChecking"].get("expressionWarnings", []) for one in policies
    }
    assert {name: found for name, found in warnings.items() if found} == {}, where


def test_kustomization_preserves_the_apply_order(clusters: Clusters, kubectl: Kubectl) -> None:
    """`kubectl apply -k` gets the same objects in the same order: parents before children, policies before bindings."""
    for trees in clusters.values():
        for tree in trees:
            built = list(yaml.load_all(kubectl.must("kustomize", tree.folder).out, yaml.CSafeLoader))
            submitted = list(tree.objects())
            assert list(map(identity, built)) == list(map(identity, submitted))

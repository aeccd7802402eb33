"""A team leaves the policy: what its tree held is listed in delete order, and deleting the list leaves the new tree."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from .kubectl import FIELD_MANAGER, Kubectl, Object
from .rendered import REPOSITORY, Tree, compile_policy, installed
from .workloads import pod

pytestmark = pytest.mark.e2e

_LEAVES = "interns"


def test_deleting_the_prune_list_leaves_what_the_policy_says(kubectl: Kubectl, tmp_path: Path) -> None:
    """Compile, apply, remove a team's file, compile to the same folder, apply, delete what `prune.json` lists."""
    policy, out = tmp_path / "acme", tmp_path / "rendered"
    shutil.copytree(REPOSITORY / "examples" / "acme", policy)
    before = compile_policy(policy, out)["dev", "lab"]
    with installed(kubectl, before, refused=(pod(_LEAVES, node="node-1"),)):
        (policy / "teams" / f"{_LEAVES}.py").unlink()
        after = compile_policy(policy, out)["dev", "lab"]
        for tree in after:
            assert kubectl.apply(tree.files).accepted
        doomed = [one for tree in after for one in _prune_list(tree)]
        assert ("Namespace", _LEAVES) in {(one["kind"], one["metadata"]["name"]) for one in doomed}
        assert ("Queue", _LEAVES) in {(one["kind"], one["metadata"]["name"]) for one in doomed}
        kubectl.must(
            "delete",
            "--ignore-not-found",
            "-f",
            "-",
            stdin=json.dumps({"kind": "List", "apiVersion": "v1", "items": doomed}),
        )
        wanted = {_key(one) for tree in after for one in tree.objects()}
        assert _managed(kubectl, after) == wanted


def _prune_list(tree: Tree) -> list[Object]:
    return [
        {
            "apiVersion": entry["apiVersion"],
            "kind": entry["kind"],
            "metadata": {key: entry[key] for key in ("name", "namespace") if key in entry},
        }
        for entry in json.loads((tree.folder / "prune.json").read_text())["objects"]
    ]


def _managed(kubectl: Kubectl, trees: tuple[Tree, ...]) -> set[tuple[str, ...]]:
    """Return what carries the label of everything emitted, of every kind that the trees hold."""
    kinds = {(one["apiVersion"], one["kind"]) for tree in trees for one in tree.objects()}
    asked = ",".join(sorted(_resource(*kind) for kind in kinds))
    label = f"app.kubernetes.io/managed-by={FIELD_MANAGER}"
    return {_key(one) for one in kubectl.get(asked, "--all-namespaces", "--selector", label)["items"]}


def _resource(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{kind.lower()}.{version}.{group}" if group else kind.lower()


def _key(one: Object) -> tuple[str, ...]:
    return (one["apiVersion"], one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])

"""Removal of a team: its objects are listed in delete order, and deleting them leaves exactly the new tree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .compiled_trees import REPOSITORY, compile_policy, identity, installed, managed, prune, prune_list
from .kubectl import Kubectl
from .workloads import pod

pytestmark = pytest.mark.e2e

_LEAVES = "interns"


def test_pruning_leaves_only_declared_objects(kubectl: Kubectl, tmp_path: Path) -> None:
    """Compile, apply, remove a team's file, compile to the same folder, apply, delete what `prune.json` lists."""
    policy, out = tmp_path / "acme", tmp_path / "rendered"
    shutil.copytree(REPOSITORY / "examples" / "acme", policy)
    before = compile_policy(policy, out, "dev")["dev", "lab-kai"]
    with installed(kubectl, before, refused=(pod(_LEAVES, node="node-1"),)):
        (policy / "teams" / f"{_LEAVES}.py").unlink()
        after = compile_policy(policy, out, "dev")["dev", "lab-kai"]
        for tree in after:
            assert kubectl.apply(tree.files).accepted
        doomed = [one for tree in after for one in prune_list(tree)]
        assert ("Namespace", _LEAVES) in {(one["kind"], one["metadata"]["name"]) for one in doomed}
        assert ("Queue", _LEAVES) in {(one["kind"], one["metadata"]["name"]) for one in doomed}
        for tree in after:
            prune(kubectl, tree)
        wanted = {identity(one) for tree in after for one in tree.objects()}
        assert managed(kubectl, after) == wanted

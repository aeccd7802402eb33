"""Compiled trees as applied to a cluster: the output of `apportion compile`, and each tree's inventory."""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .command_line import REPOSITORY, apportion
from .kubectl import FIELD_MANAGER, Kubectl, Object
from .namespaces import delete_with_empty_namespaces, delete_with_namespaces

POLICIES = Path(__file__).parent / "policies"
_AS_OF = "2026-01-01"
_IN_FORCE_S = 120


@dataclass(frozen=True, slots=True)
class Tree:
    """One folder `<environment>/<cluster>/<target>`."""

    folder: Path

    @property
    def target(self) -> str:
        return self.folder.name

    @property
    def files(self) -> tuple[Path, ...]:
        """The manifest files in the recorded apply order."""
        entries = json.loads((self.folder / "inventory.json").read_text())["objects"]
        return tuple(self.folder / name for name in dict.fromkeys(entry["file"] for entry in entries))

    def manager_configuration(self) -> Mapping[str, Any]:
        """The fragment of the manager's configuration that a Kueue tree requires."""
        return dict(yaml.safe_load((self.folder / "controller_manager_config.yaml").read_text()))

    def objects(self) -> Iterator[Object]:
        """Yield the objects as they are submitted, in the recorded apply order."""
        for file in self.files:
            yield from yaml.load_all(file.read_bytes(), yaml.CSafeLoader)


Identity = tuple[str, ...]
Clusters = Mapping[tuple[str, str], tuple[Tree, ...]]
"""The trees of each cluster, by environment and cluster; the one with the namespaces is first."""


def compile_policy(policy: Path, out: Path, *environments: str) -> Clusters:
    """Compile, for all environments or those named, into a folder and return the trees.

    An engine's tree and the plain Kubernetes one are for the same cluster and are applied together. Trees that hold
    no objects are left out: those of clouds' node pools are arguments and scripts.
    """
    named = (argument for name in environments for argument in ("--env", name))
    apportion("compile", policy, "--out", out, "--as-of", _AS_OF, *named)
    trees: dict[tuple[str, str], list[Tree]] = {}
    for inventory in sorted(out.glob("*/*/*/inventory.json")):
        environment, cluster, _ = inventory.relative_to(out).parts[:3]
        tree = Tree(inventory.parent)
        if tree.files:
            trees.setdefault((environment, cluster), []).append(tree)
    return {key: tuple(sorted(found, key=lambda tree: tree.target != "native")) for key, found in trees.items()}


def policies() -> tuple[Path, ...]:
    """Return every folder with a policy: the examples, those of these tests, and those with golden output."""
    places = (REPOSITORY / "examples", POLICIES, REPOSITORY / "tests" / "golden")
    return tuple(path.parent for place in places for path in sorted(place.glob("*/policy.py")))


@functools.cache
def runs_kueue(folder: Path) -> bool:
    """Return whether a cluster of a policy runs Kueue."""
    return any("Engine.KUEUE" in file.read_text() for file in folder.rglob("*.py"))


def delete(kubectl: Kubectl, *trees: Tree) -> None:
    """Delete every object of the trees in reverse order, and whatever their namespaces hold, and wait for the last."""
    delete_with_namespaces(kubectl, _reversed(trees))


def delete_unused(kubectl: Kubectl, *trees: Tree) -> None:
    """Delete every object of the trees in reverse order, and wait for the last; their namespaces hold nothing else."""
    delete_with_empty_namespaces(kubectl, _reversed(trees))


def _reversed(trees: Sequence[Tree]) -> list[Object]:
    return [one for tree in trees for one in tree.objects()][::-1]


@contextlib.contextmanager
def installed(
    kubectl: Kubectl,
    trees: Sequence[Tree],
    *,
    refused: Sequence[Object],
    removed_by: Callable[[Kubectl, *tuple[Tree, ...]], None] = delete,
) -> Iterator[None]:
    """Apply trees for the block, and wait until all `refused` objects are rejected."""
    try:
        for tree in trees:
            answer = kubectl.apply(tree.files)
            assert answer.accepted, answer.said
        deadline = time.monotonic() + _IN_FORCE_S
        # The API server reloads admission policies about once a second.
        while accepted := [one for one in refused if kubectl.create(one, dry_run=True).accepted]:
            assert time.monotonic() < deadline, f"not refused: {accepted}"
            time.sleep(0.5)
        yield
    finally:
        removed_by(kubectl, *trees)


def prune_list(tree: Tree) -> list[Object]:
    """Return what a tree held before and holds no longer, in its recorded delete order.

    What is retained comes last, as a person deletes it who has looked into it.
    """
    document = json.loads((tree.folder / "prune.json").read_text())
    return [
        {
            "apiVersion": entry["apiVersion"],
            "kind": entry["kind"],
            "metadata": {key: entry[key] for key in ("name", "namespace") if key in entry},
        }
        for entry in (*document["objects"], *document["retained"])
    ]


def prune(kubectl: Kubectl, tree: Tree) -> None:
    """Delete a tree's list of objects in order, and wait until the last one is deleted."""
    kubectl.delete_objects(prune_list(tree))


def managed(kubectl: Kubectl, trees: Sequence[Tree]) -> set[Identity]:
    """Return the objects with the label of emitted objects, of every kind in the trees."""
    kinds = {(one["apiVersion"], one["kind"]) for tree in trees for one in tree.objects()}
    asked = ",".join(sorted(_resource(*kind) for kind in kinds))
    label = f"app.kubernetes.io/managed-by={FIELD_MANAGER}"
    return {identity(one) for one in kubectl.get(asked, "--all-namespaces", "--selector", label)["items"]}


def _resource(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{kind.lower()}.{version}.{group}" if group else kind.lower()


def identity(one: Object) -> Identity:
    """Return the unique key of an object."""
    return (one["apiVersion"], one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"])


def missing(submitted: object, stored: object, at: str = "") -> Iterator[str]:
    """Yield the paths of submitted fields that are not stored with the same value."""
    if isinstance(submitted, dict) and isinstance(stored, dict):
        for key, value in submitted.items():
            if key in stored:
                yield from missing(value, stored[key], f"{at}.{key}")
            else:
                yield f"{at}.{key} is not stored"
    elif isinstance(submitted, list) and isinstance(stored, list) and len(submitted) == len(stored):
        for number, (one, other) in enumerate(zip(submitted, stored, strict=True)):
            yield from missing(one, other, f"{at}[{number}]")
    elif submitted != stored:
        yield f"{at} was {submitted!r} and is {stored!r}"

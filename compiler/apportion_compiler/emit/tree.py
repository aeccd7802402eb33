"""The rendered tree of one target as file names and bytes. Pure: `tree_files.py` reads and writes files.

rendered/<environment>/<cluster>/<target>/
    kustomization.yaml      every file, in apply order; none for a tree without objects, which kustomize refuses
    inventory.json          every object in apply order, with the file that holds it; reverse it to delete
    prune-allowlist.txt the kinds that may be pruned, for `kubectl apply --prune --prune-allowlist` (not with
        --server-side: kubectl then refuses to prune, and prune.json lists the objects to delete)
    prune.json objects of an earlier tree that are not in this one: `objects` in delete order, and `retained`, whose
        deletion would delete the teams' objects in them
    <nn>-<kind>.yaml        one file for each kind; queues have one for each top-level queue
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from apportion_compiler.backends.capability import Manifest, Output
from apportion_compiler.backends.generated import GENERATED
from apportion_compiler.backends.metadata import GROUP, TOP_QUEUE_LABEL
from apportion_compiler.dumper import dump_all

API_VERSION = f"{GROUP}/v1"
INVENTORY = "inventory.json"
PRUNE = "prune.json"
KUSTOMIZATION = "kustomization.yaml"
ALLOWLIST = "prune-allowlist.txt"

RETAINED_KINDS = frozenset({"Namespace"})
"""Deleting a namespace deletes every claim and secret in it, so it is listed and left to an operator."""

_HEADER = f"# {GENERATED}\n"


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """The identity of an object on the API server."""

    api_version: str
    kind: str
    namespace: str | None
    name: str

    def plain(self) -> dict[str, str]:
        """Return the entry of the inventory."""
        named = {"apiVersion": self.api_version, "kind": self.kind, "name": self.name}
        return named if self.namespace is None else {**named, "namespace": self.namespace}


def object_key(manifest: Manifest) -> ObjectKey:
    """Return the key of a manifest."""
    metadata = cast(Mapping[str, Any], manifest["metadata"])
    return ObjectKey(
        str(manifest["apiVersion"]), str(manifest["kind"]), metadata.get("namespace"), str(metadata["name"])
    )


def render_target(output: Output, identity: Mapping[str, str], formerly: Iterable[ObjectKey] = ()) -> dict[str, bytes]:
    """Return the files of one target.

    Args:
        output: Objects in apply order, and artifacts.
        identity: The target in the inventory: organisation, environment, cluster, target.
        formerly: Objects of an earlier tree, or of its prune list, in apply order.
    """
    by_file: dict[str, list[Manifest]] = {}
    keys: dict[ObjectKey, str] = {}
    ranks: dict[str, int] = {}
    for manifest in output.manifests:
        name = _file_name(manifest, ranks)
        by_file.setdefault(name, []).append(manifest)
        keys[object_key(manifest)] = name
    files = {name: dump_documents(manifests) for name, manifests in by_file.items()}
    gone = [key for key in reversed(tuple(formerly)) if key not in keys]
    prune_list = {
        "apiVersion": API_VERSION,
        "kind": "PruneList",
        "objects": [key.plain() for key in gone if key.kind not in RETAINED_KINDS],
        "retained": [key.plain() for key in gone if key.kind in RETAINED_KINDS],
    }
    files[PRUNE] = _json(prune_list)
    inventory = {
        "apiVersion": API_VERSION,
        "kind": "Inventory",
        **identity,
        # This detects a prune list that was edited without compiling, but not an attacker, which requires a base
        # revision.
        "pruneList": f"sha256:{hashlib.sha256(files[PRUNE]).hexdigest()}",
        "files": [*by_file, *(artifact.name for artifact in output.artifacts)],
        "objects": [{**key.plain(), "file": name} for key, name in keys.items()],
    }
    if by_file:
        files[KUSTOMIZATION] = dump_documents([_kustomization(by_file)])
    files[INVENTORY] = _json(inventory)
    files[ALLOWLIST] = "".join(f"{line}\n" for line in _kinds(keys)).encode()
    for artifact in output.artifacts:
        files[artifact.name] = artifact.content.encode()
    return files


def _kustomization(files: Iterable[str]) -> Manifest:
    return {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        # Without this field, kustomize sorts by kind and name, and a queue can precede its parent.
        "sortOptions": {"order": "fifo"},
        "resources": [*files],
    }


def dump_documents(manifests: Iterable[Manifest]) -> bytes:
    """Return YAML documents with a header, keys in the order of the manifests."""
    return (_HEADER + dump_all(manifests)).encode()


def read_inventory(inventory: bytes | None, prune: bytes | None) -> tuple[ObjectKey, ...]:
    """Return the objects of an earlier tree, or of its prune list, in apply order.

    Raises:
        ValueError: If the bytes are not an inventory or a prune list.
    """
    return tuple(dict.fromkeys((*held_objects(inventory), *reversed(pruned_objects(prune)))))


def held_objects(inventory: bytes | None) -> tuple[ObjectKey, ...]:
    """Return the objects of a tree in apply order. Raises `ValueError` if the bytes are not an inventory."""
    return _keys(inventory, "objects", INVENTORY)


def pruned_objects(prune: bytes | None) -> tuple[ObjectKey, ...]:
    """Return the objects of a prune list, retained objects last.

    Raises `ValueError` if the bytes are not a prune list.
    """
    return (*_keys(prune, "objects", PRUNE), *_keys(prune, "retained", PRUNE, optional=True))


def _keys(document: bytes | None, member: str, name: str, *, optional: bool = False) -> tuple[ObjectKey, ...]:
    if document is None:
        return ()
    try:
        loaded = json.loads(document)
    except RecursionError as deep:
        raise ValueError(f"{name} is nested too deeply") from deep
    except ValueError as malformed:
        raise ValueError(f"{name} is not JSON: {malformed}") from malformed
    entries = loaded.get(member, [] if optional else None) if isinstance(loaded, dict) else None
    if not isinstance(entries, list):
        raise ValueError(f"{name} has no `{member}` list")
    return tuple(_key(entry, n, member, name) for n, entry in enumerate(entries))


def _key(entry: object, n: int, member: str, name: str) -> ObjectKey:
    match entry:
        case {"apiVersion": str(version), "kind": str(kind), "name": str(called), **more}:
            namespace = more.get("namespace")
            if namespace is None or isinstance(namespace, str):
                return ObjectKey(version, kind, namespace, called)
        case _:
            pass
    raise ValueError(f"{name}: `{member}[{n}]` is not an object with apiVersion, kind and name")


def _file_name(manifest: Manifest, ranks: dict[str, int]) -> str:
    """Number the kinds by first appearance, so that a directory listing shows the apply order."""
    kind = str(manifest["kind"]).lower()
    rank = ranks.setdefault(kind, 10 * (len(ranks) + 1))
    labels = cast(Mapping[str, Any], manifest["metadata"]).get("labels") or {}
    top = labels.get(TOP_QUEUE_LABEL)
    return f"{rank:02d}-{kind}.yaml" if top is None else f"{rank:02d}-{kind}/{top}.yaml"


def _kinds(keys: Iterable[ObjectKey]) -> list[str]:
    def line(key: ObjectKey) -> str:
        group, _, version = key.api_version.rpartition("/")
        return f"{group or 'core'}/{version}/{key.kind}"

    return list(dict.fromkeys(line(key) for key in keys if key.kind not in RETAINED_KINDS))


def _json(document: Mapping[str, Any]) -> bytes:
    """Return JSON with a line for each entry of a list, so that inventories have readable diffs."""

    def text(value: Any) -> str:
        if isinstance(value, list) and value:
            return "[\n  " + ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value) + "\n ]"
        return json.dumps(value, ensure_ascii=False)

    members = ",\n ".join(f"{json.dumps(key)}: {text(value)}" for key, value in document.items())
    return f"{{\n {members}\n}}\n".encode()

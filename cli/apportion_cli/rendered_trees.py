"""Paths with rendered objects instead of a policy, and their cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from apportion_cli.bounded_text import UnreadableFileError, content_found
from apportion_cli.errors import PreconditionError
from apportion_cli.object_files import documents, object_text

_MAX_INVENTORY_BYTES = 64 * 1024**2
_OBJECT_FILES = (".yaml", ".yml", ".json")


def is_rendered(source: str) -> bool:
    """Return whether a path has rendered objects.

    A folder with a policy is read as the policy, even if it contains rendered trees, which may be outdated and are read
    only by their own path.

    Raises:
        PreconditionError: If a file is neither YAML nor JSON.
    """
    from apportion_policy.evaluation.tree import ENTRY_NAMES

    path = Path(source)
    if path.is_dir():
        if any((path / name).is_file() for name in ENTRY_NAMES):
            return False
        return any("inventory.json" in names or "kustomization.yaml" in names for _, _, names in os.walk(path))
    return path.suffix in _OBJECT_FILES and path.is_file() and _holds_objects(path)


def refuse_policy_options(source: str, *, env: str | None, cluster: str | None) -> None:
    """Reject options that select a cluster of a policy, which a rendered tree does not have.

    Raises:
        click.UsageError: If one is given, or the path has the trees of several clusters.
    """
    for option, value in (("--env", env), ("--cluster", cluster)):
        if value is not None:
            raise click.UsageError(
                f"{option} {value} selects a cluster in a policy, but {source} is a rendered tree: "
                "pass the policy, or that cluster's tree"
            )
    clusters = clusters_below(source)
    if len(clusters) > 1:
        listed = ", ".join(sorted(clusters))
        raise click.UsageError(f"{source} contains the rendered trees of more than one cluster; choose one: {listed}")


def clusters_below(source: str) -> Mapping[str, tuple[str, str]]:
    """Return the directories of clusters with trees at or below a path, each with its environment and cluster.

    Raises:
        PreconditionError: If an inventory is invalid.
    """
    import json

    from apportion_compiler.emit.tree import INVENTORY

    found: dict[str, tuple[str, str]] = {}
    for folder, _, names in os.walk(source):
        if INVENTORY in names:
            file = Path(folder) / INVENTORY
            try:
                document = json.loads(content_found(file, _MAX_INVENTORY_BYTES))
                place = str(document["environment"]), str(document["cluster"])
            except OSError as refused:
                raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from refused
            except UnreadableFileError as wrong:
                raise PreconditionError(f"{file} cannot be read: {wrong}") from None
            except (ValueError, KeyError, TypeError, RecursionError):
                raise PreconditionError(f"{file} is not a valid inventory of a rendered tree") from None
            # The trees of one cluster are in adjacent folders, one for each target.
            found.setdefault(str(file.parent.parent), place)
    return found


def _holds_objects(path: Path) -> bool:
    try:
        first = next(documents(object_text(str(path))), {})
    except ValueError as wrong:
        raise PreconditionError(f"{path}: {wrong}") from None
    return bool(first.get("kind")) and not str(first.get("apiVersion")).startswith("apportion.dev/")

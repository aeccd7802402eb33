"""`validate --manifests`: evaluate raw objects by the rules of their engines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.commands.version import version_text
from apportion_cli.errors import PreconditionError
from apportion_cli.inputs import Inputs
from apportion_cli.manifest_files import STDIN, STDIN_NAME, read_files
from apportion_cli.sources import Sources
from apportion_compiler.engines.registry import PLAIN_KUBERNETES
from apportion_policy.evaluation.policy_root import project_root

if TYPE_CHECKING:
    from apportion_cli.declared_cluster import DeclaredCluster
    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_compiler.diagnostics.report import Report
    from apportion_compiler.manifests.located_manifest import LocatedManifest

_NO_TREE = ""


def validated_manifests(
    paths: Sequence[str], engines: Sequence[str], as_of: date, declared: DeclaredCluster | None = None
) -> tuple[Inputs, Report]:
    """Return the files read and the findings.

    Objects outside a rendered tree are evaluated on the cluster of a policy, if given, or on that of a rendered tree
    that is also given.

    Raises:
        PreconditionError: If a path cannot be read, or has no Kubernetes objects.
        click.UsageError: If the cluster of the workloads is ambiguous.
    """
    from apportion_compiler.diagnostics.diagnostic import SeverityPolicy, apply_severities, in_order
    from apportion_compiler.diagnostics.report import Finding, Report

    first = paths[0]
    sources = Sources(project_root(Path.cwd() / "manifests" if first == STDIN else Path(first).absolute()), None)
    clusters: dict[str, list[LocatedManifest]] = {}
    faults: list[Diagnostic] = []
    names: list[str] = []
    for name, read in read_files(paths, sources):
        names.append(name)
        clusters.setdefault(_cluster(name, sources), []).extend(read.objects)
        faults += read.faults
    n_objects = sum(map(len, clusters.values()))
    if not n_objects and not faults:
        raise PreconditionError(
            f"no Kubernetes objects in {', '.join(paths)}", hint="set apiVersion and kind in every object"
        )
    evaluated = tuple(_evaluated(clusters, engines, declared))
    found = in_order(apply_severities((*faults, *evaluated), SeverityPolicy()))
    entry = STDIN_NAME if first == STDIN else sources.name_of(str(Path(first).absolute()))
    inputs = Inputs(
        policy=None,
        diagnostics=found,
        is_unreadable=False,
        entry=entry,
        sources=sources,
        files=tuple(names),
        printed="",
    )
    report = Report(tuple(map(Finding, found)), entry, as_of, version_text(), "manifests", n_objects=n_objects)
    return inputs, report


def _evaluated(
    clusters: Mapping[str, Sequence[LocatedManifest]], engines: Sequence[str], declared: DeclaredCluster | None
) -> Iterator[Diagnostic]:
    """Yield the findings for the objects of each cluster, and for objects outside of trees."""
    from functools import partial

    from apportion_compiler.bindings.capacity_rules import capacity_verdicts
    from apportion_compiler.manifests.manifest_checks import check_manifests
    from apportion_compiler.workload_shapes import shape_of

    beside = clusters.get(_NO_TREE, ())
    trees = {folder: objects for folder, objects in clusters.items() if folder != _NO_TREE}
    for objects in trees.values():
        yield from check_manifests(objects, engines)
    if declared is not None:
        if trees:
            raise click.UsageError(
                f"--policy and the rendered tree {next(iter(trees))} both describe the cluster: pass only one of them"
            )
        program = declared.program
        yield from check_manifests(
            beside,
            tuple(engines) or (program.engine, PLAIN_KUBERNETES),
            existing=declared.objects,
            further=partial(capacity_verdicts, program),
        )
        return
    has_work = any(shape_of(placed.manifest) is not None for placed in beside)
    if len(trees) > 1 and has_work:
        raise click.UsageError(
            f"workloads are checked against one cluster, but the rendered trees belong to more than one; choose one: {', '.join(trees)}"
        )
    existing = [placed.manifest for objects in trees.values() for placed in objects] if len(trees) == 1 else []
    yield from check_manifests(beside, engines, existing=existing)


def _cluster(name: str, sources: Sources) -> str:
    """Return the directory of the cluster of a rendered tree; empty for files outside of a tree.

    A folder of rendered trees has several clusters, whose objects are independent. Each target's tree has an inventory.
    """
    from apportion_compiler.emit.tree import INVENTORY

    if name == STDIN_NAME:
        return _NO_TREE
    for folder in sources.path(name).parents:
        if (folder / INVENTORY).is_file():
            return str(folder.parent)
        if folder == sources.root:
            break
    return _NO_TREE

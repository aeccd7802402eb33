"""`validate --manifests`: judge raw objects by the rules of the engines they are for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from apportion_cli.commands.version import version_text
from apportion_cli.errors import CannotError
from apportion_cli.inputs import Inputs
from apportion_cli.manifest_files import STDIN, STDIN_NAME, read_files
from apportion_cli.sources import Sources
from apportion_policy.evaluation.root import project_root

if TYPE_CHECKING:
    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_compiler.diagnostics.report import Report


def validated_manifests(paths: Sequence[str], engines: Sequence[str], as_of: date) -> tuple[Inputs, Report]:
    """Return what was read, and the findings.

    Raises:
        CannotError: If a path cannot be read, or nothing of it is a Kubernetes object.
    """
    from apportion_compiler.diagnostics.diagnostic import SeverityPolicy, in_order, judge
    from apportion_compiler.diagnostics.report import Finding, Report
    from apportion_compiler.manifests.checking import check_manifests
    from apportion_compiler.manifests.placed import Placed

    first = paths[0]
    sources = Sources(project_root(Path.cwd() / "manifests" if first == STDIN else Path(first).absolute()), None)
    clusters: dict[str, list[Placed]] = {}
    faults: list[Diagnostic] = []
    names: list[str] = []
    for name, read in read_files(paths, sources):
        names.append(name)
        clusters.setdefault(_cluster(name, sources), []).extend(read.objects)
        faults += read.faults
    n_objects = sum(map(len, clusters.values()))
    if not n_objects and not faults:
        raise CannotError(
            f"there is no Kubernetes object in {', '.join(paths)}", hint="an object has apiVersion and kind"
        )
    judged = (finding for objects in clusters.values() for finding in check_manifests(objects, engines))
    found = in_order(judge((*faults, *judged), SeverityPolicy()))
    entry = STDIN_NAME if first == STDIN else sources.name_of(str(Path(first).absolute()))
    inputs = Inputs(
        policy=None,
        diagnostics=found,
        is_unreadable=False,
        entry=entry,
        sources=sources,
        files=tuple(names),
        printed="",
        unconfined=(),
    )
    report = Report(tuple(map(Finding, found)), entry, as_of, version_text(), "manifests", n_objects=n_objects)
    return inputs, report


def _cluster(name: str, sources: Sources) -> str:
    """Return the folder of the cluster that a rendered tree is for; empty for files of no tree.

    A folder of rendered trees holds several clusters, whose objects never meet. Each target's tree has an inventory.
    """
    from apportion_compiler.emit.tree import INVENTORY

    if name == STDIN_NAME:
        return ""
    for folder in sources.path(name).parents:
        if (folder / INVENTORY).is_file():
            return str(folder.parent)
        if folder == sources.root:
            break
    return ""

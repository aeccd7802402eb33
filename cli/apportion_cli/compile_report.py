"""The result of `compile`: one record for each target, rendered as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import wrap

from apportion_api.counted_nouns import counted
from apportion_cli.errors import PreconditionError
from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Feature, Output
from apportion_compiler.backends.metadata import source_of
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.output_folder import LinkedPathError, OutputFolder, open_output
from apportion_compiler.emit.rendered_trees import RenderedTree, rendered_trees
from apportion_compiler.emit.tree import PRUNE, RETAINED_KINDS, ObjectKey, object_key, pruned_objects
from apportion_compiler.emit.tree_files import TreeChange, entries_outside, objects_of_base
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.fidelity import FidelityLine, fidelity
from apportion_compiler.ir.program import Program

_MOST_FILES = 6


@dataclass(frozen=True, slots=True)
class TargetReport:
    """One target.

    Attributes:
        folder: Folder of its tree.
        kinds: Number of objects of each kind, in apply order.
        change: Differences of the tree on disk.
        pruned: Objects to delete from the cluster, in delete order.
        retained: Objects that were removed from the policy but stay on the cluster until they are deleted manually.
        fidelity: Fidelity of each feature on the engine.
        sources: The author's line, `file:line`, of each object in apply order.
    """

    target: Target
    folder: Path
    kinds: tuple[tuple[str, int], ...]
    change: TreeChange
    pruned: tuple[ObjectKey, ...]
    retained: tuple[ObjectKey, ...]
    fidelity: tuple[FidelityLine, ...]
    sources: tuple[tuple[ObjectKey, str], ...]


@dataclass(frozen=True, slots=True)
class CompileReport:
    """A compilation, compared with its output directory.

    Attributes:
        out: The output folder.
        targets: One record for each target.
        foreign: Entries of the output folder that belong to no target, by relative path; empty if only some targets
            were compiled.
    """

    out: Path
    targets: tuple[TargetReport, ...]
    foreign: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the output directory differs from the compilation."""
        return bool(self.foreign) or any(not target.change.is_empty for target in self.targets)


def render(
    compilation: Compilation, out: Path, *, write: bool, is_whole: bool, base: Path | None = None
) -> CompileReport:
    """Write the trees of a compilation to a directory, or only compare them.

    Args:
        compilation: The compilation.
        out: The output folder.
        write: Whether to write.
        is_whole: Whether every target of the policy was compiled, so that other entries are foreign.
        base: The output folder of a base revision, with the objects of earlier trees; by default the output folder
            itself.

    Raises:
        PreconditionError: If a tree cannot be read or written.
    """
    try:
        with open_output(out, writing=write) as folder, _opened(base) as held:
            former = None if base is None else partial(objects_of_base, held, folder)
            changes: dict[str, TreeChange] = {}
            reports: list[TargetReport] = []
            for tree, output in rendered_trees(compilation, folder, write=write, former=former):
                changes[tree.name] = tree.change
                reports.append(_report(compilation.programs[tree.target], tree, output, out))
            foreign = entries_outside(folder, changes) if is_whole else ()
    except LinkedPathError as linked:
        raise PreconditionError(str(linked), hint="remove it; nothing was written") from None
    except ValueError as malformed:
        raise PreconditionError(f"{out / str(malformed)}", hint="restore the file, or delete its directory") from None
    except OSError as refused:
        raise PreconditionError(
            f"{refused.filename or out} cannot be {'written' if write else 'read'}: {refused.strerror}"
        ) from refused
    return CompileReport(out, tuple(reports), foreign)


def _opened(base: Path | None) -> AbstractContextManager[OutputFolder | None]:
    # A base revision without the folder had no objects, so there is nothing to prune.
    return nullcontext() if base is None else open_output(base, writing=False)


def report_text(compiled: CompileReport, *, check: bool, width: int, brief: bool = False) -> str:
    """Return the deleted objects, then a line for each target, the features that are not exact, and the total.

    `brief` includes only the objects, and the targets that differ.
    """
    reports = compiled.targets
    lines = [*_deletions(reports, width, check=check), *_foreign(compiled, width)]
    if brief:
        for report in reports if check else ():
            if not report.change.is_empty:
                lines += [f"{report.folder.as_posix()}  {_changed(report.change, check=True)}"]
                lines += _differing(report.change, width)
        return "".join(f"{line}\n" for line in lines)
    for report in reports:
        objects = sum(n for _, n in report.kinds)
        lines.append(
            f"{report.folder.as_posix()}  {counted(objects, 'object')}, {_changed(report.change, check=check)}"
        )
        lines += wrap(
            ", ".join(f"{n} {kind}" for kind, n in report.kinds), width, initial_indent="  ", subsequent_indent="  "
        )
        if check:
            lines += _differing(report.change, width)
    lines += _fidelity(reports, width)
    exact = sum(line.verdict == "exact" for report in reports for line in report.fidelity)
    provided = sum(line.verdict == "exact" and bool(line.provided) for r in reports for line in r.fidelity)
    n_clusters = len({(each.target.environment, each.target.cluster) for each in reports})
    conditional = f"; {provided} of these features only if:" if provided else ""
    lines += [
        "",
        (
            f"{counted(len(reports), 'target')}, {counted(sum(n for r in reports for _, n in r.kinds), 'object')}; "
            f"{exact} of {counted(sum(len(r.fidelity) for r in reports), 'feature')} exact on {counted(n_clusters, 'cluster')}{conditional}"
        ),
        *_required_files(reports, width),
    ]
    return "\n".join(lines) + "\n"


def _required_files(reports: tuple[TargetReport, ...], width: int) -> Iterator[str]:
    """Yield a line for each file on which an exact feature depends: its path, and how it is applied."""
    required = dict.fromkeys(
        f"{report.folder.as_posix()}/{file}"
        for report in reports
        for line in report.fidelity
        if line.verdict == "exact"
        for file in line.provided
    )
    for text in list(required)[:_MOST_FILES]:
        yield from wrap(text, width, initial_indent="  ", subsequent_indent="    ")
    if len(required) > _MOST_FILES:
        yield f"  and {len(required) - _MOST_FILES} more"


def _fidelity(reports: tuple[TargetReport, ...], width: int) -> list[str]:
    """Return a line for each feature and engine, with clusters if only some of an engine's clusters use it."""
    found: dict[str, dict[FidelityLine, list[str]]] = {}
    places: dict[str, list[str]] = {}
    for report in reports:
        if report.fidelity:
            place = f"{report.target.environment}/{report.target.cluster}"
            places.setdefault(report.target.backend, []).append(place)
            of_engine = found.setdefault(report.target.backend, {})
            for line in report.fidelity:
                of_engine.setdefault(line, []).append(place)
    order = tuple(Feature)
    lines: list[str] = []
    for engine, features in found.items():
        lines += ["", f"how the policy maps to {TRAITS[engine].title} ({', '.join(places[engine])})"]
        for line in sorted(features, key=lambda line: order.index(line.feature)):
            some = "" if features[line] == places[engine] else f" (in {', '.join(features[line])})"
            lines += wrap(
                line.text + some,
                width,
                initial_indent=f"  {line.verdict:<13} {line.feature.value:<21} ",
                subsequent_indent=" " * 6,
            )
    return lines


def report_json(compiled: CompileReport) -> str:
    """Return the report as a versioned document."""
    document = {
        "apiVersion": "apportion.dev/v1",
        "kind": "CompileReport",
        "out": compiled.out.as_posix(),
        "foreign": list(compiled.foreign),
        "targets": [
            {
                "environment": report.target.environment,
                "cluster": report.target.cluster,
                "target": report.target.backend,
                "folder": report.folder.as_posix(),
                "objects": dict(report.kinds),
                "sources": [{**key.plain(), "source": line} for key, line in report.sources],
                "added": list(report.change.added),
                "changed": list(report.change.changed),
                "removed": list(report.change.removed),
                "foreign": list(report.change.foreign),
                "undeclaredDeletions": [key.plain() for key in report.change.undeclared_deletions],
                "prune": [key.plain() for key in report.pruned],
                "retained": [key.plain() for key in report.retained],
                "fidelity": [
                    {
                        "feature": line.feature.value,
                        "verdict": line.verdict,
                        "how": line.how,
                        "code": line.code,
                        "provided": list(line.provided),
                    }
                    for line in report.fidelity
                ],
            }
            for report in compiled.targets
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _report(program: Program, tree: RenderedTree, output: Output, out: Path) -> TargetReport:
    target = tree.target
    kinds = Counter(str(manifest["kind"]) for manifest in output.manifests)
    gone = pruned_objects(tree.files[PRUNE])
    backend = BACKENDS.get(target.backend)
    return TargetReport(
        target,
        out / tree.name,
        tuple(kinds.items()),
        tree.change,
        pruned=tuple(key for key in gone if key.kind not in RETAINED_KINDS),
        retained=tuple(key for key in gone if key.kind in RETAINED_KINDS),
        fidelity=() if backend is None else fidelity(program, backend),
        sources=_sources(output),
    )


def _sources(output: Output) -> tuple[tuple[ObjectKey, str], ...]:
    found = ((object_key(manifest), source_of(manifest)) for manifest in output.manifests)
    return tuple((key, f"{source.file}:{source.line}") for key, source in found if source is not None)


def _deletions(reports: Sequence[TargetReport], width: int, *, check: bool) -> list[str]:
    """Return the names of objects deleted from each cluster, and of objects retained there."""
    lines: list[str] = []
    pruned = [(report, report.pruned) for report in reports if report.pruned]
    retained = [(report, report.retained) for report in reports if report.retained]
    undeclared = [(r, r.change.undeclared_deletions) for r in reports if check and r.change.undeclared_deletions]
    for title, found in (
        ("to delete from the cluster (prune.json):", pruned),
        ("kept in the cluster with all their contents; delete them manually:", retained),
        ("listed in prune.json, although this change does not remove them (restore prune.json):", undeclared),
    ):
        if found:
            lines.append(title)
        for report, objects in found:
            place = f"  {report.target.environment}/{report.target.cluster}/{report.target.backend}: "
            lines += wrap(place + ", ".join(_named(key) for key in objects), width, subsequent_indent="    ")
    return [*lines, ""] if lines else []


def _named(key: ObjectKey) -> str:
    return f"{key.kind} {key.name}" if key.namespace is None else f"{key.kind} {key.namespace}/{key.name}"


def _foreign(compiled: CompileReport, width: int) -> list[str]:
    inside = [f"{(report.folder / name).as_posix()}" for report in compiled.targets for name in report.change.foreign]
    found = [*((compiled.out / name).as_posix() for name in compiled.foreign), *inside]
    if not found:
        return []
    title = "not generated from this policy, so left in place; move these out of the output directory or delete them:"
    return [title, *(line for name in found for line in wrap(name, width, initial_indent="  ")), ""]


def _differing(change: TreeChange, width: int) -> list[str]:
    """Return the names of files that differ."""
    lines: list[str] = []
    for word, names in (("missing", change.added), ("differs", change.changed), ("unexpected", change.removed)):
        if names:
            lines += wrap(f"{word}: {', '.join(names)}", width, initial_indent="  ", subsequent_indent="    ")
    return lines


def _changed(change: TreeChange, *, check: bool) -> str:
    if change.is_empty:
        return "up to date"
    parts = [
        f"{counted(len(names), 'file')} {'would be ' if check else ''}{word}"
        for names, word in ((change.added, "written"), (change.changed, "changed"), (change.removed, "removed"))
        if names
    ]
    return ", ".join(parts) or "other files present"

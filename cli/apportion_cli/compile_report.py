"""What `compile` wrote and where: one record for each target, shown as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from apportion_cli.errors import CannotError
from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Feature, Output
from apportion_compiler.backends.metadata import source_of
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.disk import TreeChange, compare, write
from apportion_compiler.emit.rendered import folder_of, rendered_files
from apportion_compiler.emit.tree import PRUNE, ObjectKey, object_key
from apportion_compiler.fidelity import FidelityLine, fidelity


@dataclass(frozen=True, slots=True)
class TargetReport:
    """One target.

    Attributes:
        folder: Its tree.
        kinds: How many objects it has of each kind, in apply order.
        change: How the tree on disk differs.
        pruned: How many objects are on its prune list.
        fidelity: What the engine makes of each feature.
        sources: The author's line, `file:line`, of each object in apply order.
    """

    target: Target
    folder: Path
    kinds: tuple[tuple[str, int], ...]
    change: TreeChange
    pruned: int
    fidelity: tuple[FidelityLine, ...]
    sources: tuple[tuple[ObjectKey, str], ...]


def render(compilation: Compilation, out: Path, *, write: bool) -> tuple[TargetReport, ...]:
    """Bring the trees below a folder to the compilation, or only compare them.

    Raises:
        CannotError: If a tree cannot be read or written.
    """
    return tuple(_render(compilation, target, out, writing=write) for target in compilation.outputs)


def report_text(reports: tuple[TargetReport, ...], *, check: bool, width: int) -> str:
    """Return a line for each target, its kinds below it, what is not exact, and the total."""
    lines: list[str] = []
    for report in reports:
        objects = sum(n for _, n in report.kinds)
        lines.append(f"{report.folder.as_posix()}  {_count(objects, 'object')}, {_changed(report.change, check=check)}")
        lines += wrap(
            ", ".join(f"{n} {kind}" for kind, n in report.kinds), width, initial_indent="  ", subsequent_indent="  "
        )
        if report.pruned:
            lines.append(f"  {_count(report.pruned, 'object')} to delete: {(report.folder / PRUNE).as_posix()}")
    lines += _fidelity(reports, width)
    exact = sum(line.verdict == "exact" for report in reports for line in report.fidelity)
    lines += [
        "",
        (
            f"{_count(len(reports), 'target')}, {_count(sum(n for r in reports for _, n in r.kinds), 'object')}; "
            f"{exact} of {_count(sum(len(r.fidelity) for r in reports), 'feature')} exact"
        ),
    ]
    return "\n".join(lines) + "\n"


def _fidelity(reports: tuple[TargetReport, ...], width: int) -> list[str]:
    """Return a line for each feature and engine; what only some of an engine's clusters use names them."""
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
        lines += ["", f"what becomes of the policy on {engine} ({', '.join(places[engine])})"]
        for line in sorted(features, key=lambda line: order.index(line.feature)):
            some = "" if features[line] == places[engine] else f" (in {', '.join(features[line])})"
            said = f"{line.code}: {line.how}" if line.code is not None else line.how
            lines += wrap(
                said + some,
                width,
                initial_indent=f"  {line.verdict:<13} {line.feature.value:<21} ",
                subsequent_indent=" " * 6,
            )
    return lines


def report_json(reports: tuple[TargetReport, ...], out: Path) -> str:
    """Return the same as a versioned document."""
    document = {
        "apiVersion": "apportion.dev/v1",
        "kind": "CompileReport",
        "out": out.as_posix(),
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
                "toPrune": report.pruned,
                "fidelity": [
                    {"feature": line.feature.value, "verdict": line.verdict, "how": line.how, "code": line.code}
                    for line in report.fidelity
                ],
            }
            for report in reports
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _render(compilation: Compilation, target: Target, out: Path, *, writing: bool) -> TargetReport:
    output, program = compilation.outputs[target], compilation.programs[target]
    folder = folder_of(target, out)
    try:
        files = rendered_files(compilation, target, out)
        change = write(folder, files) if writing else compare(folder, files)
    except ValueError as malformed:
        raise CannotError(
            f"{folder / 'inventory.json'}: {malformed}", hint="restore it, or delete the folder"
        ) from None
    except OSError as refused:
        raise CannotError(f"{refused.filename or folder} cannot be written: {refused.strerror}") from refused
    kinds = Counter(str(manifest["kind"]) for manifest in output.manifests)
    pruned = len(json.loads(files[PRUNE])["objects"])
    backend = BACKENDS.get(target.backend)
    lines = () if backend is None else fidelity(program, backend)
    return TargetReport(target, folder, tuple(kinds.items()), change, pruned, lines, _sources(output))


def _sources(output: Output) -> tuple[tuple[ObjectKey, str], ...]:
    found = ((object_key(manifest), source_of(manifest)) for manifest in output.manifests)
    return tuple((key, f"{source.file}:{source.line}") for key, source in found if source is not None)


def _changed(change: TreeChange, *, check: bool) -> str:
    if change.is_empty:
        return "up to date"
    parts = [
        f"{_count(len(names), 'file')} {'would be ' if check else ''}{word}"
        for names, word in ((change.added, "written"), (change.changed, "changed"), (change.removed, "removed"))
        if names
    ]
    return ", ".join(parts)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"

"""What `compile` wrote and where: one record for each target, shown as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from textwrap import wrap

from apportion_cli.errors import CannotError
from apportion_compiler.backends import BACKENDS
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.disk import TreeChange, compare, former_objects, write
from apportion_compiler.emit.tree import PRUNE, render_target
from apportion_compiler.fidelity import FidelityLine, fidelity


@dataclass(frozen=True, slots=True)
class TargetReport:
    """One target: its folder, the objects by kind in apply order, what changed, and what became of each feature."""

    target: Target
    folder: Path
    kinds: tuple[tuple[str, int], ...]
    change: TreeChange
    pruned: int
    fidelity: tuple[FidelityLine, ...]


def render(compilation: Compilation, out: Path, as_of: date, *, write: bool) -> tuple[TargetReport, ...]:
    """Bring the trees below a folder to the compilation, or only compare them.

    Raises:
        CannotError: If a tree cannot be read or written.
    """
    return tuple(_render(compilation, target, out, as_of, writing=write) for target in compilation.outputs)


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
    for (backend, line), places in _not_exact(reports).items():
        lines += ["", f"{line.verdict} for {backend}: {line.feature.value} ({', '.join(places)})"]
        lines += wrap(line.how, width, initial_indent="  ", subsequent_indent="  ")
    exact = sum(line.verdict == "exact" for report in reports for line in report.fidelity)
    lines += [
        "",
        (
            f"{_count(len(reports), 'target')}, {_count(sum(n for r in reports for _, n in r.kinds), 'object')}; "
            f"{exact} of {_count(sum(len(r.fidelity) for r in reports), 'feature')} exact"
        ),
    ]
    return "\n".join(lines) + "\n"


def _not_exact(reports: tuple[TargetReport, ...]) -> dict[tuple[str, FidelityLine], list[str]]:
    """Return the features that are not exact, each once, with the clusters that use it."""
    found: dict[tuple[str, FidelityLine], list[str]] = {}
    for report in reports:
        for line in report.fidelity:
            if line.verdict != "exact":
                place = f"{report.target.environment}/{report.target.cluster}"
                found.setdefault((report.target.backend, line), []).append(place)
    return found


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


def _render(compilation: Compilation, target: Target, out: Path, as_of: date, *, writing: bool) -> TargetReport:
    output, program = compilation.outputs[target], compilation.programs[target]
    folder = out / target.environment / target.cluster / target.backend
    identity = {
        "organisation": program.organisation,
        "environment": target.environment,
        "cluster": target.cluster,
        "target": target.backend,
        "engineVersion": program.engine_version,
        "asOf": as_of.isoformat(),
    }
    try:
        files = render_target(output, identity, former_objects(folder))
        change = write(folder, files) if writing else compare(folder, files)
    except ValueError as malformed:
        raise CannotError(
            f"{folder / 'inventory.json'}: {malformed}", hint="restore it, or delete the folder"
        ) from None
    except OSError as refused:
        raise CannotError(f"{refused.filename or folder} cannot be written: {refused.strerror}") from refused
    kinds = Counter(str(manifest["kind"]) for manifest in output.manifests)
    pruned = len(json.loads(files[PRUNE])["objects"])
    return TargetReport(
        target, folder, tuple(kinds.items()), change, pruned, fidelity(program, BACKENDS[target.backend])
    )


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

"""Read the snapshot of a cluster from paths on the command line; errors become findings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apportion_cli.bounded_text import UnreadableFileError, content_of
from apportion_cli.commands.version import version_text
from apportion_cli.console import Console
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.manifest_files import STDIN, STDIN_NAME, files_of
from apportion_cli.sources import Sources
from apportion_policy.evaluation.policy_root import project_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_compiler.diagnostics.report import Report
    from apportion_runtime.core.snapshot import Settings, Snapshot
    from apportion_runtime.snapshots.document_loader import Source
    from apportion_runtime.snapshots.faults import Fault
    from apportion_runtime.snapshots.snapshot_reader import SnapshotReading

_MOST_BYTES = 2 * 1024**3
_MOST_LIVE_FINDINGS = 20


@dataclass(frozen=True, slots=True)
class ClusterInputs:
    """A snapshot of a cluster; `snapshot` is None if there is nothing to schedule."""

    snapshot: Snapshot | None
    settings: Settings
    report: Report
    sources: Sources
    name: str
    """The files that it was read from, as they were given."""
    objects: Sequence[Mapping[str, Any]] = ()
    """The objects in the files, if they are objects of a cluster."""
    is_live: bool = False
    """Whether it was read from a running cluster."""

    def show(self, console: Console, fail_on: str) -> ExitCode:
        """Print the findings to standard error, and return their exit code."""
        from apportion_compiler.diagnostics.text import render_text, summary

        if self.report.findings:
            n_more = len(self.report.findings) - _MOST_LIVE_FINDINGS if self.is_live else 0
            shown = (
                replace(self.report, findings=self.report.findings[:_MOST_LIVE_FINDINGS]) if n_more > 0 else self.report
            )
            text = render_text(
                shown,
                shown=self.sources.near,
                read=self.sources.read,
                style=console.style(stderr=True),
                width=console.width(stderr=True),
                brief=console.quiet,
            )
            if n_more > 0:
                text += f"\n{n_more} more; `kubectl apportion snapshot --out FILE` and `apportion simulate --cycle FILE` show all"
            console.err(text if console.quiet else f"{text}\n{summary(self.report)}\n")
        return ExitCode.FINDINGS if self.report.fails(fail_on) else ExitCode.OK


def read_cluster(paths: Sequence[str], *, now: float | None, shard: str | None) -> ClusterInputs:
    """Read a cluster from files: a snapshot document, or Kubernetes objects.

    Raises:
        PreconditionError: If a path cannot be read.
        click.UsageError: If there is no such shard.
    """
    first = paths[0]
    sources = Sources(project_root(Path.cwd() / "snapshot" if first == STDIN else Path(first).absolute()), None)
    return _read(_texts(paths, sources), sources, ", ".join(paths), now, shard)


def read_live_objects(
    name: str, objects: Sequence[Mapping[str, Any]], *, now: float, shard: str | None
) -> ClusterInputs:
    """Read a cluster from its objects; findings refer to it by the name.

    A running cluster is scheduled in spite of its malformed objects, so faults are warnings, and the rest is shown.

    Raises:
        click.UsageError: If there is no such shard.
    """
    from apportion_runtime.snapshots.snapshot_reader import read_objects

    sources = Sources(project_root(Path.cwd() / "snapshot"), None)
    # Faults of objects have no place in a text.
    sources.hold(name, "")
    with _known_shard(shard, name):
        read = read_objects(objects, now=now, shard=shard)
    found = [_live_finding(fault, name) for fault in read.faults]
    return ClusterInputs(read.snapshot, read.settings, _report(found, name), sources, name, is_live=True)


def _read(texts: list[Source], sources: Sources, name: str, now: float | None, shard: str | None) -> ClusterInputs:
    from apportion_runtime.snapshots.snapshot_reader import read_snapshot

    with _known_shard(shard, name):
        read = read_snapshot(texts, now=now, shard=shard)
    return _inputs(read, sources, texts[0].name if texts else name, name)


@contextmanager
def _known_shard(shard: str | None, name: str) -> Iterator[None]:
    try:
        yield
    except KeyError:
        raise click.UsageError(f"SchedulingShard `{shard}` does not exist in {name}") from None


def _inputs(read: SnapshotReading, sources: Sources, entry: str, name: str) -> ClusterInputs:
    from apportion_runtime.snapshots.faults import has_errors

    decidable = None if has_errors(read.faults) else read.snapshot
    report = _report(map(_finding, read.faults), entry)
    return ClusterInputs(decidable, read.settings, report, sources, name, read.objects)


def _report(found: Iterable[Diagnostic], entry: str) -> Report:
    from apportion_compiler.diagnostics.report import Finding, Report

    return Report(tuple(map(Finding, found)), entry, date.min, version_text(), "manifests")


def nearest(word: str, name: str, known: Sequence[str]) -> click.UsageError:
    """Return the usage error for an unknown name, with the closest match."""
    from difflib import get_close_matches

    # A pod group is named `pg-OWNER-UID`.
    near = [each for each in known if f"-{name}-" in f"{each}-"] or get_close_matches(name, known, n=1)
    return click.UsageError(f"{word} {name} does not exist" + (f"; did you mean {near[0]}?" if near else ""))


def _texts(paths: Sequence[str], sources: Sources) -> list[Source]:
    from apportion_runtime.snapshots.document_loader import Source

    read: dict[str, Source] = {}
    for path in paths:
        for file in files_of(path):
            name = STDIN_NAME if file == STDIN else sources.name_of(os.path.abspath(file))  # noqa: PTH100
            if name not in read:
                text = _text(file)
                sources.hold(name, text)
                read[name] = Source(name, text)
    return list(read.values())


def _text(file: str) -> str:
    try:
        content = sys.stdin.buffer.read(_MOST_BYTES + 1) if file == STDIN else content_of(file, _MOST_BYTES)
    except UnreadableFileError as wrong:
        raise PreconditionError(f"{file} cannot be read: {wrong}") from None
    except OSError as refused:
        raise PreconditionError(f"{file} cannot be read: {refused.strerror}") from refused
    if len(content) > _MOST_BYTES:
        raise PreconditionError(f"{file} is larger than the limit of {_MOST_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as undecodable:
        raise PreconditionError(f"{file} is not UTF-8 text: invalid byte at offset {undecodable.start}") from None


def _finding(fault: Fault) -> Diagnostic:
    from apportion_compiler.checks.snapshots import SNAPSHOTS
    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_policy.source import SourceLocation

    at = SourceLocation(fault.file, fault.line)
    return Diagnostic(SNAPSHOTS[fault.kind], fault.address, fault.message, at=at, hint=fault.hint)


def _live_finding(fault: Fault, cluster: str) -> Diagnostic:
    from apportion_compiler.diagnostics.diagnostic import Severity
    from apportion_runtime.snapshots.faults import HINTS_FOR_FILES

    hint = None if fault.hint in HINTS_FOR_FILES else fault.hint
    return replace(_finding(replace(fault, file=cluster)), severity=Severity.WARNING, hint=hint)


def moment(command: Callable[..., object]) -> Callable[..., object]:
    """Add `--now`."""
    return click.option("--now", callback=parsed_moment, metavar="TIME", help=_NOW_HELP)(command)


_NOW_HELP = "Time of the cycle, such as 2026-11-21T08:00:00Z (default: the latest timestamp in the snapshot)."


def parsed_moment(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """Return a time in seconds since the epoch; a callback of options."""
    if text is None:
        return None
    from apportion_runtime.snapshots.quantities import parse_time

    try:
        return parse_time(text)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong)) from None


def shard_option(command: Callable[..., object]) -> Callable[..., object]:
    """Add `--shard`."""
    return click.option(
        "--shard", metavar="NAME", help="SchedulingShard to use; required if the cluster has more than one."
    )(command)


def workload_shard_option(command: Callable[..., object]) -> Callable[..., object]:
    """Add `--shard`, which is derived from the workload by default."""
    return click.option(
        "--shard",
        metavar="NAME",
        help="SchedulingShard of the workload (default: derived from its node pool or GPU model).",
    )(command)

"""The formats of `--trace`: their names, files and readers. docs/traces.md describes each."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.trace_names import TraceNames, UsedNames

if TYPE_CHECKING:
    from apportion_runtime.sim.traces.records import Source, Trace


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """A format of recorded loads.

    Attributes:
        files: Its files in order, as in the help.
        read: The function from its files to a trace.
        in_directory: The names of the files in a directory of the published trace; none requires each file.
        has_gpu_types: Whether its GPU types are mapped to the models of nodes.
    """

    files: Sequence[str]
    read: Callable[[Sequence[Source], TraceNames], Trace]
    in_directory: Sequence[str] = ()
    has_gpu_types: bool = False


def _openb(sources: Sequence[Source], names: TraceNames) -> Trace:
    from apportion_runtime.sim.traces.openb import OpenbRules, read_openb

    known = OpenbRules()
    queues: UsedNames[Sequence[str]] = UsedNames(
        {qos: (queue,) for qos, queue in names.queues.data.items()}, names.queues.used
    )
    rules = OpenbRules(ChainMap(names.priorities, dict(known.priorities)), ChainMap(queues, dict(known.queues)))
    nodes, pods = sources
    return read_openb(nodes, pods, rules)


def _sacct(sources: Sequence[Source], names: TraceNames) -> Trace:
    from apportion_runtime.sim.traces.sacct import SlurmRules, read_sacct

    return read_sacct(sources[0], SlurmRules(queues=names.queues, priorities=names.priorities, models=names.models))


def _dlrm(sources: Sequence[Source], names: TraceNames) -> Trace:
    from apportion_runtime.sim.traces.dlrm import DlrmRules, read_dlrm

    known = DlrmRules()
    queues = ChainMap(names.queues, dict(known.queues))
    return read_dlrm(sources[0], DlrmRules(queues, ChainMap(names.priorities, dict(known.priorities))))


def _pai(sources: Sequence[Source], names: TraceNames) -> Trace:
    from apportion_runtime.sim.traces.pai import PaiRules, read_pai

    return read_pai(sources[0], PaiRules(queues=names.queues, priorities=names.priorities, models=names.models))


def _philly(sources: Sequence[Source], names: TraceNames) -> Trace:
    from apportion_runtime.sim.traces.philly import PhillyRules, read_philly

    return read_philly(sources[0], PhillyRules(queues=names.queues, priorities=names.priorities))


def _helios(sources: Sequence[Source], names: TraceNames) -> Trace:
    from apportion_runtime.sim.traces.helios import HeliosRules, read_helios

    return read_helios(sources[0], HeliosRules(queues=names.queues, priorities=names.priorities))


def _watch(sources: Sequence[Source], names: TraceNames) -> Trace:
    from apportion_runtime.sim.traces.watch import WatchRules, read_watch

    return read_watch(sources[0], WatchRules(queues=names.queues, priorities=names.priorities))


FORMATS: Mapping[str, TraceFormat] = {
    "openb": TraceFormat(
        ("NODES.csv", "PODS.csv"), _openb, ("openb_node_list_all_node.csv", "openb_pod_list_default.csv")
    ),
    "sacct": TraceFormat(("FILE",), _sacct, has_gpu_types=True),
    "dlrm": TraceFormat(("FILE",), _dlrm),
    "pai": TraceFormat(("FILE",), _pai, has_gpu_types=True),
    "philly": TraceFormat(("FILE",), _philly),
    "helios": TraceFormat(("FILE",), _helios),
    "watch": TraceFormat(("FILE",), _watch),
}


def usages() -> str:
    """Return the possible arguments of `--trace`, as in `openb:DIRECTORY, sacct:FILE or dlrm:FILE`."""
    found = [
        f"{name}:{each}"
        for name, known in FORMATS.items()
        for each in (*(("DIRECTORY",) if known.in_directory else ()), ",".join(known.files))
    ]
    return f"{', '.join(found[:-1])} or {found[-1]}"


def format_and_files(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse the argument of `--trace` as the name of a format and its files. Raises `click.BadParameter`."""
    name, _, rest = text.partition(":")
    known = FORMATS.get(name)
    if known is None or not rest:
        raise click.BadParameter(f"`{text}` is not {usages()}", param_hint="--trace")
    if known.in_directory and Path(rest).is_dir():
        return name, tuple(str(Path(rest) / file) for file in known.in_directory)
    n_files = len(known.files)
    # The name of a single file may contain commas.
    files = tuple(rest.split(",", n_files - 1))
    if len(files) < n_files or not all(files):
        raise click.BadParameter(
            f"`{rest}` is not a directory; {name} requires {n_files} files, as in {name}:{','.join(known.files)}",
            param_hint="--trace",
        )
    return name, files

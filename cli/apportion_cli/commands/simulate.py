"""`apportion simulate`: simulate a policy, or one scheduling cycle."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.cluster_inputs import moment, read_cluster, shard_option
from apportion_cli.console import Console, current
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import (
    Output,
    allow_missing_layers_option,
    as_of_option,
    fail_on_option,
    output_option,
)
from apportion_cli.snapshot_commands import with_snapshot_command
from apportion_cli.trace_input import trace_options
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from datetime import date

    from apportion_cli.trace_input import TraceInput
    from apportion_runtime.core.session import Session
    from apportion_runtime.core.snapshot import Settings

_ALL = "all"
_OF_ONE_RUN = {"jsonl", "story"}
_OF_SCENARIOS = {*_OF_ONE_RUN, "html"}


@click.command()
@click.argument("policy", required=False, type=click.Path(), metavar="[POLICY]")
@click.option(
    "--scenario",
    type=click.Path(),
    metavar="FILE",
    help="Scenario file with the nodes and workloads to simulate.",
)
@trace_options
@click.option("--env", metavar="NAME", help="Environment in POLICY to simulate.")
@click.option("--cluster", metavar="NAME", help="Cluster in POLICY to simulate.")
@click.option(
    "--engine", metavar="NAME", help="Engine to simulate, if POLICY has more than one: kai, volcano, native, …"
)
@click.option(
    "--against",
    type=click.Path(),
    metavar="POLICY",
    help="Also simulate this policy or rendered tree with the same scenario, and show only the differences.",
)
@click.option("--against-env", metavar="NAME", help="Environment for --against (default: same as --env).")
@click.option("--against-cluster", metavar="NAME", help="Cluster for --against (default: same as --cluster).")
@click.option("--against-engine", metavar="NAME", help="Engine for --against (default: same as --engine).")
@click.option(
    "--cycle",
    "snapshots",
    multiple=True,
    type=click.Path(),
    metavar="SNAPSHOT",
    help="Run one scheduling cycle on this snapshot: a file, a directory, or - for standard input; may be repeated.",
)
@click.option(
    "--actions",
    metavar="LIST",
    help="Actions to run in the cycle: all, or a comma-separated list (default: set by the snapshot).",
)
@click.option(
    "--record",
    type=click.IntRange(min=1),
    metavar="N",
    help="Replay this cycle; the file passed with --cycle must be a decision log of `apportion scheduler`.",
)
@moment
@shard_option
@output_option("text", "json", "yaml", "jsonl", "html", "story")
@as_of_option
@fail_on_option
@allow_missing_layers_option
@console_options
def simulate(
    policy: str | None,
    *,
    scenario: str | None,
    trace: TraceInput | None,
    env: str | None,
    cluster: str | None,
    engine: str | None,
    against: str | None,
    against_env: str | None,
    against_cluster: str | None,
    against_engine: str | None,
    snapshots: tuple[str, ...],
    actions: str | None,
    record: int | None,
    now: float | None,
    shard: str | None,
    outputs: tuple[Output, ...],
    as_of: date,
    fail_on: str,
) -> int:
    """Simulate POLICY under the workload of a scenario or a trace; with --cycle, run one scheduling cycle on a snapshot.

    A scenario (docs/simulation.md) lists nodes, workloads and events; POLICY is compiled for its cluster first. A
    snapshot is a document of kind Snapshot (docs/snapshot.md), or Kubernetes objects as kubectl prints them.

    \b
    apportion simulate policy.py --env prod --scenario scenario.yaml
    apportion simulate rendered/prod/main --scenario scenario.yaml
    apportion simulate policy.py --trace openb:nodes.csv,pods.csv --trace-load 0.8
    apportion simulate --cycle cluster.yaml
    apportion simulate --cycle cluster/ --actions allocate -o json
    KUBECTL
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    formats = {output.format for output in outputs}
    if scenario is not None or trace is not None:
        from dataclasses import replace

        from apportion_cli.rendered_trees import is_rendered
        from apportion_cli.scenario_run import SimulationTarget, run_scenario

        if snapshots or "yaml" in formats:
            raise click.UsageError(
                "--scenario and --trace cannot be combined with --cycle or -o yaml; supported output formats: text, json, jsonl, html and story"
            )
        of_cycle = {"--actions": actions, "--record": record, "--now": now}
        option = next((option for option, value in of_cycle.items() if value is not None), None)
        if option is not None:
            raise click.UsageError(f"{option} requires --cycle SNAPSHOT")
        if against is not None and formats & _OF_ONE_RUN:
            raise click.UsageError("--against supports only the output formats text, json and html")
        if against is None and (against_env or against_cluster or against_engine):
            raise click.UsageError("--against-env, --against-cluster and --against-engine require --against POLICY")
        other = None
        if against is not None:
            # A rendered tree belongs to one cluster, so only options that contradict it can be wrong.
            takes_place = not is_rendered(against)
            other = SimulationTarget(
                against,
                against_env or (env if takes_place else None),
                against_cluster or (cluster if takes_place else None),
                against_engine or engine,
                shard,
            )
        choice = SimulationTarget(policy or ".", env, cluster, engine, shard)
        load = replace(trace, beside=scenario) if trace is not None else scenario or ""
        return run_scenario(choice, load, as_of=as_of, outputs=outputs, against=other, fail_on=fail_on)
    if policy is not None or not snapshots or formats & _OF_SCENARIOS or against is not None:
        raise click.UsageError(
            "pass --scenario FILE or --trace FORMAT:FILE to simulate a policy, or --cycle SNAPSHOT to simulate one cycle (-o text, json or yaml)"
        )
    from apportion_cli.delivery import deliver
    from apportion_runtime.core.cycle import cycle

    console = current()
    if record is not None:
        session, code = _replayed(snapshots, record, actions, now, shard)
        for output in outputs or (Output("text"),):
            deliver(console, output, _rendered(session, output, console))
        return code
    log = next(filter(_is_decision_log, snapshots), None)
    if log is not None:
        raise click.UsageError(f"{log} is a decision log; choose a cycle with --record N")
    inputs = read_cluster(snapshots, now=now, shard=shard)
    settings = _with_actions(inputs.settings, actions)
    code = inputs.show(console, fail_on)
    if inputs.snapshot is None:
        return code or ExitCode.FINDINGS
    session = cycle(inputs.snapshot, settings)
    for output in outputs or (Output("text"),):
        deliver(console, output, _rendered(session, output, console))
    return code


with_snapshot_command(simulate, "kai", "| apportion simulate --cycle -")


def _is_decision_log(path: str) -> bool:
    from apportion_runtime.snapshots.decision_log import cycle_number

    file = Path(path)
    if not file.is_file():
        return False
    with contextlib.suppress(OSError), file.open(encoding="utf-8", errors="replace") as lines:
        return cycle_number(lines.readline(100)) is not None
    return False


def _replayed(
    paths: tuple[str, ...], number: int, actions: str | None, now: float | None, shard: str | None
) -> tuple[Session, ExitCode]:
    """Return the session of a recorded cycle, and report whether it decides as recorded."""
    from apportion_cli.errors import PreconditionError
    from apportion_runtime.snapshots.decision_log import DecisionLogError, recorded_cycle, replayed
    from apportion_runtime.snapshots.decisions import decisions_document
    from apportion_runtime.snapshots.document import to_json

    if len(paths) != 1 or (actions, now, shard) != (None, None, None):
        raise click.UsageError(
            "--record requires a single --cycle LOG, and cannot be combined with --actions, --now or --shard"
        )
    try:
        with Path(paths[0]).open(encoding="utf-8") as lines:
            recorded = recorded_cycle(lines, number, paths[0])
    except DecisionLogError as wrong:
        raise PreconditionError(str(wrong)) from None
    except UnicodeDecodeError:
        raise PreconditionError(f"{paths[0]} is not UTF-8 text") from None
    except OSError as refused:
        raise PreconditionError(f"{paths[0]} cannot be read: {refused.strerror}") from None
    session = replayed(recorded)
    if to_json(decisions_document(session)) == to_json(recorded.decisions):
        return session, ExitCode.OK
    current().err(
        f"warning: the log was recorded by scheduler version {recorded.version}, which made different decisions in cycle {number}\n"
    )
    return session, ExitCode.FINDINGS


def _with_actions(settings: Settings, asked: str | None) -> Settings:
    from dataclasses import replace

    from apportion_runtime.core.cycle import ACTIONS

    if asked is None:
        return settings
    names = tuple(ACTIONS) if asked.strip() == _ALL else tuple(n.strip() for n in asked.split(",") if n.strip())
    for name in names:
        if name not in ACTIONS:
            raise click.BadParameter(f"`{name}` is not one of {_ALL}, {', '.join(ACTIONS)}", param_hint="--actions")
    if not names:
        raise click.BadParameter("no actions given", param_hint="--actions")
    return replace(settings, actions=names)


def _rendered(session: Session, output: Output, console: Console) -> str:
    from apportion_runtime.snapshots.decisions import decisions_document
    from apportion_runtime.snapshots.document import to_json, to_yaml

    if output.format == "text":
        from apportion_cli.cycle_report import decisions_text

        return decisions_text(session, (console if output.file is None else Console(color=False)).style())
    document = decisions_document(session)
    return to_json(document) if output.format == "json" else to_yaml(document)

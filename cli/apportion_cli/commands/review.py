"""`apportion review`: the effects of a policy change on running work, and its required approvals."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.cluster_inputs import parsed_moment
from apportion_cli.console import Console, current
from apportion_cli.exit_codes import ExitCode
from apportion_cli.given_approvals import approvals_digest, given_approvals, owners_of
from apportion_cli.options import (
    Output,
    as_of_option,
    json_option,
    limit_options,
    limits,
    optional_day,
    output_option,
)
from apportion_cli.review_inputs import parse_gpu_hours, read_snapshots
from apportion_cli.review_replay import (
    check_replayed,
    check_report,
    checked_report,
    command_line,
    reject_outputs,
    replay_arguments,
    set_checked_report,
    set_replayed_report,
    time_text,
)
from apportion_cli.settings import variable
from apportion_cli.snapshot_commands import with_snapshot_command
from apportion_cli.trace_input import trace_options
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from datetime import date

    from apportion_cli.trace_input import TraceInput
    from apportion_review.policy_side import PolicySide
    from apportion_review.review import LoadComparison, Review

_WIDTH = 100


@click.command()
@click.argument("base", required=False, metavar="[BASE]")
@click.argument("head", required=False, metavar="[HEAD]")
@click.option(
    "-p",
    "--policy",
    default=".",
    envvar=variable("policy"),
    type=click.Path(),
    help="Path to the policy within a revision, and within the working tree if HEAD is omitted.",
)
@click.option(
    "--snapshot",
    "snapshots",
    multiple=True,
    metavar="[ENV/CLUSTER=]FILE",
    help="Objects exported from a cluster with `kubectl get … -A -o json`; may be repeated.",
)
@click.option(
    "--scenario",
    type=click.Path(),
    metavar="FILE",
    help="Simulate the workloads of this scenario under both policies.",
)
@trace_options
@click.option(
    "--cluster",
    "load_clusters",
    multiple=True,
    metavar="ENV/NAME",
    help="Simulate on this cluster; may be repeated (default: every cluster that changes).",
)
@click.option(
    "--max-evictions",
    type=click.IntRange(min=0),
    metavar="N",
    help="Maximum number of running workloads that the change may make evictable; exit with 11 if exceeded.",
)
@click.option(
    "--max-lost-gpu-hours",
    callback=parse_gpu_hours,
    metavar="HOURS",
    help="Maximum GPU-hours used so far by workloads that become evictable; exit with 11 if exceeded.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["destructive", "loss", "unknown"]),
    help="Exit with status 11 if the change has at least this severity: destructive (running work or objects are lost), loss (a queue loses quota) or unknown (an effect is unknown).",
)
@click.option(
    "--require-approvals",
    metavar="FILE|LIST",
    help="Owners who have approved the change: a comma-separated list, or a file with one owner per line. Exit with status 11 if an approval is missing.",
)
@click.option(
    "--share-loss",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    metavar="PERCENT",
    help="Smallest loss of fair share that requires the queue owner's approval.",
)
@click.option("--redact", is_flag=True, help="Replace workload names and namespaces with hashes.")
@output_option("text", "json", "markdown", "md", "html")
@json_option
@as_of_option
@click.option(
    "--base-as-of",
    callback=optional_day,
    metavar="DATE",
    help="Evaluate BASE as of this date (default: same as --as-of).",
)
@click.option(
    "--now",
    callback=parsed_moment,
    metavar="TIME",
    help="Time of the review, such as 2026-11-21T08:00:00Z, used to compute ages (default: now).",
)
@click.option(
    "--replay",
    metavar="FILE",
    help="Reproduce this JSON report; its inputs must be unchanged.",
)
@click.option(
    "--check-shares",
    metavar="FILE",
    help="Verify the fair shares in this JSON report, and each step of their calculation.",
)
@limit_options
@console_options
def review(
    base: str | None,
    head: str | None,
    *,
    policy: str,
    snapshots: tuple[str, ...],
    scenario: str | None,
    trace: TraceInput | None,
    load_clusters: tuple[str, ...],
    max_evictions: int | None,
    max_lost_gpu_hours: int | None,
    fail_on: str | None,
    require_approvals: str | None,
    share_loss: int,
    redact: bool,
    outputs: tuple[Output, ...],
    as_of: date,
    base_as_of: date | None,
    now: float | None,
    replay: str | None,
    check_shares: str | None,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Review a policy change: its effects, evicted workloads and required approvals.

    BASE and HEAD are git revisions or paths of a policy, as for `apportion diff`. With a cluster snapshot, the report
    lists the running workloads that the change evicts; without one, their outcome is unknown. Exit 10 if the policies
    differ, 11 if a gate fails, 1 if HEAD has errors.

    \b
    apportion review main
    KUBECTL
    apportion review main --snapshot prod/gpu-1=prod.json --max-evictions 0
    apportion review main feature -o markdown=comment.md --redact
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.diff_sides import InvalidSideError, read_sides
    from apportion_cli.findings import show_findings
    from apportion_review.gates import FailOn, Thresholds
    from apportion_review.policy_review import ReviewInputs, policy_review
    from apportion_review.report.redaction import redacted

    if replay is not None or check_shares is not None:
        if base is not None:
            raise click.UsageError("--replay and --check-shares read BASE and HEAD from the report: omit both")
        return _replayed(replay, outputs) if replay is not None else _checked(check_shares or "")
    if base is None:
        raise click.UsageError("Missing argument 'BASE'.")
    if head is None and ".." in base and not Path(base).exists():
        base, _, head = base.partition("..")
    console = current()
    at = time.time() if now is None else now
    try:
        former, changed = read_sides(
            base, head or None, policy, within=limits(time_limit, memory_limit), as_of=as_of, base_as_of=base_as_of
        )
    except InvalidSideError as invalid:
        return show_findings(console, invalid.inputs, invalid.diagnostics, "error")
    clusters = list(dict.fromkeys((*changed.facts.clusters, *former.facts.clusters)))
    held, digests = read_snapshots(snapshots, clusters, at)
    if (report := checked_report()) is not None:
        from apportion_cli.share_check import show_share_check

        check_replayed({"base": former.digest, "head": changed.digest, **digests}, loads_too=False)
        return show_share_check(console, report, former, changed, held)
    load = scenario if trace is None else replace(trace, beside=scenario)
    loads, load_digests = _loads(former, changed, load, load_clusters)
    approved: tuple[str, ...] = ()
    if require_approvals is not None:
        approved = given_approvals(require_approvals, owners_of(former.facts, changed.facts))
        digests = {**digests, **approvals_digest(require_approvals, approved)}
    made = policy_review(
        former,
        changed,
        ReviewInputs(
            held,
            loads,
            given_approvals=approved,
            share_loss=share_loss,
            thresholds=Thresholds(
                max_evictions,
                max_lost_gpu_hours,
                None if fail_on is None else FailOn(fail_on),
                require_approvals is not None,
            ),
            digests={"base": former.digest, "head": changed.digest, **digests, **load_digests},
            version=_version(),
            command=_command(at, (former.as_of, changed.as_of)),
        ),
    )
    check_replayed(made.digests)
    if redact:
        made = redacted(made)
    check_report(made)
    for output in outputs or (Output("text"),):
        _deliver(console, output, made)
    if any(gate.has_failed for gate in made.gates):
        return ExitCode.GATE_FAILED
    if changed.why_not_compiled:
        return ExitCode.FINDINGS
    return ExitCode.CHANGES if made.diff.differs else ExitCode.OK


with_snapshot_command(review, "kai", "> prod.json")


def _loads(
    base: PolicySide, head: PolicySide, load: str | TraceInput | None, named: tuple[str, ...]
) -> tuple[Mapping[str, LoadComparison | str], Mapping[str, str]]:
    if load is None:
        if named:
            raise click.UsageError("--cluster requires --scenario or --trace")
        return {}, {}
    from apportion_cli.review_load import compare_loads
    from apportion_review.policy_side import diff_report
    from apportion_review.unknown_clusters import changed_clusters

    both = [name for name in head.facts.clusters if name in base.facts.clusters]
    for name in named:
        if name not in both:
            raise click.UsageError(f"--cluster {name} is not in both policies; in both: {', '.join(both) or 'none'}")
    changed = changed_clusters(diff_report(base, head)) if not named else frozenset(named)
    return compare_loads(base, head, [name for name in both if changed is None or name in changed], load)


def _command(at: float, dates: tuple[date, date]) -> str:
    """Return the current command line, with explicit dates and times instead of the clock."""
    context = click.get_current_context()
    held: dict[str, object] = {
        **context.params,
        "as_of": dates[1],
        "base_as_of": None if dates[0] == dates[1] else dates[0],
        "now": time_text(at),
    }
    return command_line(context.command, held)


def _replayed(file: str, outputs: tuple[Output, ...]) -> int:
    arguments, document = replay_arguments(file)
    _reject_outputs(file, arguments)
    set_replayed_report(file, document)
    named = [f"-o{each.format}" if each.file is None else f"-o{each.format}={each.file}" for each in outputs]
    parent = click.get_current_context().parent
    with review.make_context("review", [*arguments, *named], parent=parent) as context:
        return int(review.invoke(context))


def _checked(file: str) -> int:
    arguments, document = replay_arguments(file)
    _reject_outputs(file, arguments)
    set_checked_report(document)
    parent = click.get_current_context().parent
    with review.make_context("review", [*arguments], parent=parent) as context:
        return int(review.invoke(context))


def _reject_outputs(file: str, arguments: Sequence[str]) -> None:
    with review.make_context("review", [*arguments], parent=click.get_current_context().parent) as context:
        reject_outputs(file, context)


def _version() -> str:
    from apportion_cli.commands.version import version_text

    return version_text()


def _deliver(console: Console, output: Output, made: Review) -> None:
    from apportion_cli.delivery import deliver

    if output.format in ("markdown", "md"):
        from apportion_review.report.comment import comment

        text = comment(made)
    elif output.format == "html":
        from apportion_review.report.page import review_page

        text = review_page(made)
    elif output.format == "json":
        from apportion_review.report.document import review_json

        text = review_json(made)
    else:
        from apportion_review.report.text import review_text

        text = review_text(made, console.style(), console.width() or _WIDTH)
    deliver(console, output, text)

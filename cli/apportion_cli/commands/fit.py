"""`apportion fit`: whether, where and when a workload would start."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.cluster_inputs import parsed_moment, workload_shard_option
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, json_option, limits, output_option, reading_options
from apportion_cli.scopes import cluster_scope, place_options
from apportion_cli.snapshot_commands import with_snapshot_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from apportion_cli.fit_workload import FitWorkload
    from apportion_policy.evaluation.limits import Limits
    from apportion_review.cluster_reviews import ClusterSnapshot
    from apportion_review.fit.clusters import ObservedCluster
    from apportion_review.fit.fit import Question
    from apportion_review.fit.records import Fit


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What is asked: a workload, on a cluster of a policy, at a time; None is the default of each."""

    policy: str
    file: str
    name: str | None
    queue: str | None
    env: str | None
    cluster: str | None
    now: float | None
    shard: str | None
    as_of: date
    limits: Limits
    gpu_model: str | None = None


@click.command()
@click.option("-f", "--file", required=True, metavar="FILE", help="Manifest of the workload; - reads standard input.")
@click.option("--name", metavar="NAME", help="Workload to evaluate; required if FILE has more than one.")
@click.option(
    "--queue",
    metavar="ID",
    help="Queue of the workload (default: taken from the workload or its namespace).",
)
@click.option("--gpu-model", metavar="MODEL", help="GPU model, such as h100, if the workload does not specify one.")
@place_options
@click.option(
    "--snapshot",
    "snapshots",
    multiple=True,
    metavar="FILE",
    help="Objects exported from the cluster with `kubectl get … -A -o json`; may be repeated.",
)
@click.option(
    "--now",
    callback=parsed_moment,
    metavar="TIME",
    help="Submission time, such as 2026-11-21T08:00:00Z (default: the latest timestamp in the snapshot).",
)
@workload_shard_option
@output_option("text", "json")
@json_option
@reading_options
def fit(
    policy: str,
    *,
    file: str,
    name: str | None,
    queue: str | None,
    gpu_model: str | None,
    env: str | None,
    cluster: str | None,
    snapshots: tuple[str, ...],
    now: float | None,
    shard: str | None,
    outputs: tuple[Output, ...],
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Check whether, where and when a workload would start under POLICY, and suggest changes if it would not.

    Decisions follow the cluster's engine. Without a snapshot, the cluster is assumed to be idle. Exit 0 if the workload
    starts now, 11 if running work is evicted for it, 1 if it does not start now or the result is unknown.

    \b
    apportion fit -f job.yaml
    apportion fit policy.py --env prod -f job.yaml --queue vision
    KUBECTL
    apportion fit policy.py --env prod -f job.yaml --snapshot prod.json
    apportion fit policy.py -f job.yaml --snapshot prod.json -o json
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    within = limits(time_limit, memory_limit)
    request = FitRequest(policy, file, name, queue, env, cluster, now, shard, as_of, within, gpu_model)
    return answer_fit(request, lambda scope: _snapshot(snapshots, scope), outputs)


with_snapshot_command(fit, "kai", "> prod.json", ("jobs",))


def answer_fit(
    request: FitRequest,
    snapshot_of: Callable[[str], ClusterSnapshot | None],
    outputs: Sequence[Output],
    *,
    without_policy: str | None = None,
) -> int:
    """Print the answer to a request, and return the exit code.

    Args:
        request: What is asked.
        snapshot_of: Returns the snapshot of a cluster, given as `ENV/CLUSTER`; None for an idle one.
        outputs: Formats and files.
        without_policy: What to do if the policy is the current directory, and it has none; None for its finding.

    Raises:
        PreconditionError: If the workload, the policy or the snapshot cannot be read.
    """
    from apportion_cli.delivery import deliver
    from apportion_cli.findings import show_findings
    from apportion_cli.fit_inputs import cluster_compiler, model_of
    from apportion_cli.fit_workload import read_workload, with_queue
    from apportion_cli.inputs import read_policy
    from apportion_cli.workload_shard import shard_of
    from apportion_compiler.compile import check_policy
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_policy.evaluation.tree import ENTRY_NAMES
    from apportion_review.fit.clusters import ObservedCluster, of_shard
    from apportion_review.fit.document import fit_json
    from apportion_review.fit.fit import Question
    from apportion_review.fit.text import fit_text
    from apportion_review.unreadable_requests import why_unreadable

    console = current()
    located, others = read_workload(request.file, request.name)
    if without_policy is not None and request.policy == "." and not any(Path(name).exists() for name in ENTRY_NAMES):
        raise PreconditionError("the current directory has no policy", hint=without_policy)
    inputs = read_policy(request.policy, request.limits)
    if inputs.policy is None:
        return show_findings(console, inputs, inputs.diagnostics, "error")
    checked = check_policy(inputs.policy, request.as_of)
    if checked.graph is None or has_errors(checked.diagnostics):
        return show_findings(console, inputs, checked.diagnostics, "error")
    scope = cluster_scope(checked.graph, request.env, request.cluster)
    compiler = cluster_compiler(inputs.policy, scope, as_of=request.as_of)
    compiled = compiler.compile(inputs.policy)
    if compiled is None:
        raise PreconditionError("the policy has errors", hint=f"run apportion validate {request.policy}")
    workload = with_queue(
        located, others, compiled.program, compiled.objects, queue=request.queue, gpu_model=request.gpu_model
    )
    snapshot = snapshot_of(scope.name or "")
    existing = () if snapshot is None else snapshot.objects
    if snapshot is not None and (why := why_unreadable(existing)):
        raise PreconditionError(
            f"{snapshot.info.name}: {why}",
            hint="export the snapshot again, without modifying its objects",
        )
    shard = shard_of(workload.manifest, (*existing, *compiled.objects), request.shard)
    compiler = replace(compiler, shard=shard)
    compiled = replace(compiled, objects=of_shard(compiled.objects, shard))
    observed = ObservedCluster(
        compiled,
        model_of(compiled.program.engine),
        None if snapshot is None else snapshot.objects,
        workload.beside,
        _moment(snapshot, request.now),
        shard=shard,
    )
    question = Question(
        workload.manifest,
        workload.queue,
        workload.is_bound,
        inputs.policy,
        checked.graph,
        scope,
        compiler.compile,
        "" if snapshot is None else snapshot.info.name,
        located.manifest,
    )
    answer = _decided(question, observed, workload)
    for output in outputs or (Output("text"),):
        deliver(console, output, fit_json(answer) if output.format == "json" else fit_text(answer))
    return _code(answer)


def _snapshot(files: Sequence[str], cluster: str) -> ClusterSnapshot | None:
    """Return the snapshot in some files. Raises `PreconditionError` if one cannot be read or is empty."""
    from apportion_cli.review_inputs import read_snapshots

    if not files:
        return None
    snapshots, _ = read_snapshots(files, [cluster], time.time())
    found = snapshots[cluster]
    if not any(each.get("kind") == "Node" for each in found.objects):
        raise PreconditionError(
            f"{found.info.name} contains no nodes, so no workload can start",
            hint="include them: kubectl get nodes,pods,… -A -o json",
        )
    return found


def _moment(snapshot: ClusterSnapshot | None, now: float | None) -> float:
    if now is not None:
        return now
    return time.time() if snapshot is None or snapshot.info.taken is None else snapshot.info.taken


def _decided(question: Question, observed: ObservedCluster, workload: FitWorkload) -> Fit:
    """Return the result. Raises `PreconditionError` if the engine cannot start from the objects."""
    from apportion_review.fit.existing_workload import submitted_before
    from apportion_review.fit.fit import fit_of

    try:
        question, observed, note = submitted_before(question, observed)
        answer = fit_of(question, observed)
    except ValueError as wrong:
        raise PreconditionError(f"{question.snapshot or 'the cluster'} cannot be evaluated: {wrong}") from None
    remarks = tuple(f"According to the declared node pools and quotas, {clause}." for clause in workload.remarks)
    return replace(answer, notes=(*note, *answer.notes, *remarks))


def _code(answer: Fit) -> int:
    from apportion_review.fit.records import Outcome

    codes: Mapping[Outcome, ExitCode] = {Outcome.NOW: ExitCode.OK, Outcome.AFTER_EVICTIONS: ExitCode.GATE_FAILED}
    return codes.get(answer.decision.outcome, ExitCode.FINDINGS)

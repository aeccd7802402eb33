"""The implementation of `explain` for a job or a queue of a cluster, evaluated after a cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from apportion_cli.cluster_inputs import ClusterInputs, nearest, read_cluster
from apportion_cli.console import current
from apportion_cli.cycle_report import job_text, queue_text, reported_text
from apportion_cli.delivery import deliver
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.kubectl.scheduler_reports import pod_scheduled_messages
from apportion_cli.options import Output
from apportion_cli.snapshot_commands import snapshot_command

if TYPE_CHECKING:
    from apportion_runtime.core.session import Session
    from apportion_runtime.core.snapshot import Snapshot


def explain_in_cluster(
    kind: str,
    name: str,
    snapshots: Sequence[str],
    *,
    now: float | None,
    shard: str | None,
    outputs: Sequence[Output],
    fail_on: str,
) -> int:
    """Print why a job is pending, or how a queue's fair share is calculated. Return the exit code.

    Raises:
        click.UsageError: If there is no such job or queue.
    """
    return explain_inputs(kind, name, read_cluster(snapshots, now=now, shard=shard), outputs=outputs, fail_on=fail_on)


def explain_inputs(
    kind: str,
    name: str,
    inputs: ClusterInputs,
    *,
    outputs: Sequence[Output],
    fail_on: str,
    reported: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Print the same for a cluster that has been read.

    Args:
        kind: `job` or `queue`.
        name: Its name.
        inputs: The cluster.
        outputs: Where to print, and in which format.
        fail_on: The severity of findings that changes the exit code.
        reported: The messages of the cluster's scheduler about the job, each with its pods; None for those of `inputs`.

    Raises:
        click.UsageError: If there is no such job or queue.
    """
    from apportion_runtime.core.cycle import cycle
    from apportion_runtime.snapshots.document import to_json

    console = current()
    code = inputs.show(console, fail_on)
    if inputs.snapshot is None:
        return code or ExitCode.FINDINGS
    _check_objects(kind, inputs.snapshot, inputs.name)
    session = cycle(inputs.snapshot, inputs.settings)
    document, text = _job(session, name) if kind == "job" else _queue(session, name, inputs)
    if reported is None and kind == "job":
        # A snapshot without messages of a scheduler has none to show.
        reported = pod_scheduled_messages(inputs.objects, document["namespace"], document["job"]) or None
    if reported is not None:
        document["reported"] = [{"message": message, "pods": list(pods)} for message, pods in reported.items()]
        text = reported_text(reported) + text
    for output in outputs or (Output("text"),):
        deliver(console, output, to_json(document) if output.format == "json" else text)
    return code


def _check_objects(kind: str, snapshot: Snapshot, files: str) -> None:
    """Raise `PreconditionError` if a snapshot has no object of the kind to explain."""
    lacking = {"queue": ("Queue", snapshot.queues), "job": ("PodGroup", snapshot.pod_groups)}
    name, held = lacking[kind]
    if not held:
        raise PreconditionError(
            f"{files} contains no KAI Scheduler {name} objects; only KAI Scheduler snapshots can be explained",
            hint=f"export the snapshot with all kinds: {snapshot_command('kai')}",
        )


def _job(session: Session, name: str) -> tuple[dict[str, Any], str]:
    from apportion_runtime.core.explain.evictions import evictions
    from apportion_runtime.core.explain.pending import why_pending
    from apportion_runtime.snapshots.decisions import job_document

    by_name = {job.name: job for job in session.jobs.values()}
    by_name |= {f"{job.group.namespace}/{job.name}": job for job in session.jobs.values()}
    if name not in by_name:
        raise nearest("job", name, sorted(by_name))
    job = by_name[name]
    explained = why_pending(session, job)
    document = job_document(session, explained)
    evicted = [made.lines for made in {made.pod: made for made in evictions(session)}.values() if made.pod in job.tasks]
    return document, job_text(document, explained.lines, evicted)


def _queue(session: Session, name: str, inputs: ClusterInputs) -> tuple[dict[str, Any], str]:
    from apportion_runtime.core.explain.fair_share import fair_share
    from apportion_runtime.core.explain.pending import unusable_queue
    from apportion_runtime.snapshots.decisions import queue_document

    if name not in session.shares.queues:
        if any(queue.name == name for queue in session.snapshot.queues):
            why = unusable_queue(session, name)
            raise click.UsageError(f"{why.text}; {why.cure}" if why is not None else f"queue {name} is ignored")
        wrong = (found.diagnostic for found in inputs.report.findings if found.diagnostic.address == f"queue {name}")
        if (unreadable := next(wrong, None)) is not None:
            raise click.UsageError(f"queue {name} is ignored: {unreadable.message}")
        raise nearest("queue", name, sorted(session.shares.queues))
    share = fair_share(session, name)
    document = queue_document(session, share)
    return document, queue_text(document, share.lines)

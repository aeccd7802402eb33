"""`apportion scheduler`: run the packaged scheduler on a real cluster."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import click

from apportion_cli.console import Console, current
from apportion_cli.errors import PreconditionError
from apportion_cli.kubernetes_client import require_kubernetes_client
from apportion_cli.settings import variable
from apportion_cli.termination_signals import set_on_termination
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from apportion_runtime.kube.configuration import SchedulerConfiguration
    from apportion_runtime.kube.configuration_file import ConfigurationFile
    from apportion_runtime.kube.connection import Connection
    from apportion_runtime.kube.leader_election import LeaderElection

_MONITORING = {
    "dashboard.json": "apportion-scheduler-dashboard.json",
    "alerts.yaml": "apportion-scheduler-alerts.yaml",
}
"""The packaged files, and the names under which they are written."""


@click.command()
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Configuration document (`apportion schema --for scheduler`); the options below take precedence.",
)
@click.option(
    "--kubeconfig", metavar="FILE", help="Kubeconfig file (default: KUBECONFIG, or the pod's service account)."
)
@click.option("--context", metavar="NAME", help="Kubeconfig context to use.")
@click.option(
    "--engine",
    type=click.Choice(["kai", "ack"]),
    help="Engine whose objects are enforced: kai schedules pods; ack releases suspended jobs (default: kai).",
)
@click.option(
    "--name",
    "scheduler_name",
    metavar="NAME",
    envvar=variable("scheduler-name"),
    help="Schedule pods with this `schedulerName` (default: kai-scheduler).",
)
@click.option(
    "--shard",
    metavar="NAME",
    envvar=variable("shard"),
    help="SchedulingShard to use; required if the cluster has more than one.",
)
@click.option(
    "--period",
    "cycle_period_s",
    type=click.FloatRange(min=0.05),
    metavar="SECONDS",
    help="Maximum delay between a change and the next cycle, in seconds (default: 1.0).",
)
@click.option(
    "--port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="Port on which to serve /healthz, /readyz and /metrics (default: 8080).",
)
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME",
    envvar=variable("lease"),
    help="Lease used for leader election; if omitted, leader election is disabled.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    default=None,
    help="Report decisions in the log and the metrics, and write nothing to the API server.",
)
@click.option("--log-format", type=click.Choice(["text", "json"]), help="Log format (default: text).")
@click.option(
    "--decision-log",
    metavar="FILE",
    help="Record each cycle in a file, for replay with `apportion simulate --cycle FILE --record NUMBER`.",
)
@click.option(
    "--write-monitoring",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the Grafana dashboard and the Prometheus alert rules to a directory, and exit.",
)
@click.option(
    "--write-manifests",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the scheduler's deployment manifests to a directory, and exit; requires --image.",
)
@click.option(
    "--image",
    metavar="IMAGE",
    help="Scheduler image for --write-manifests, pinned by digest: REPOSITORY[:TAG]@sha256:DIGEST.",
)
@console_options
def scheduler(
    *,
    config: Path | None,
    write_monitoring: Path | None,
    write_manifests: Path | None,
    image: str | None,
    **flags: Any,
) -> None:
    """Run the packaged scheduler, which makes the same queue, gang and fair-share decisions as KAI Scheduler.

    It reads the objects that `apportion compile` writes for KAI, and replaces KAI's scheduler, binder and pod grouper.
    Sharing a GPU requires KAI's reservation pods and admission webhook.

    With --engine ack, it replaces kube-queue, and releases suspended Jobs and RayJobs as the quotas in ACK's
    ElasticQuotaTree allow.

    \b
    apportion scheduler --kubeconfig ~/.kube/config --period 0.5
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    if write_monitoring is not None:
        _write_monitoring(write_monitoring)
        return
    if (write_manifests is None) != (image is None):
        raise click.UsageError("--write-manifests and --image must be given together")
    if image is not None:
        _check_image(image)
    if write_manifests is None:
        require_kubernetes_client()

    from apportion_runtime.kube.configuration import FIELDS, SchedulerConfiguration, engine_fault
    from apportion_runtime.kube.configuration_document import ConfigurationError
    from apportion_runtime.kube.configuration_file import ConfigurationFile

    given = {attribute: value for attribute, value in flags.items() if value is not None}
    _check(given)
    try:
        file = None if config is None else ConfigurationFile(config, given)
    except ConfigurationError as wrong:
        raise PreconditionError(str(wrong)) from None
    chosen = SchedulerConfiguration(**given) if file is None else file.current
    defaults = SchedulerConfiguration()
    changed = [
        field.attribute for field in FIELDS if getattr(chosen, field.attribute) != getattr(defaults, field.attribute)
    ]
    misplaced = engine_fault(chosen.engine, changed)
    if misplaced is not None:
        if misplaced[0].attribute in given:
            option, engine = _option_names()[misplaced[0].attribute], misplaced[0].engine
            raise click.UsageError(f"{option} applies only to --engine {engine}: remove {option}, or use that engine")
        raise PreconditionError(misplaced[1])
    if write_manifests is not None and image is not None:
        from apportion_cli.scheduler_manifests import write_manifests as write

        write(write_manifests, image, chosen)
        return
    _run(chosen, file)


def _run(chosen: SchedulerConfiguration, file: ConfigurationFile | None) -> None:
    """Run the scheduler until the process is asked to end."""
    from apportion_runtime.kube.connection import connect
    from apportion_runtime.kube.decision_log_writer import DecisionLogWriter
    from apportion_runtime.kube.definitions import MissingDefinitions
    from apportion_runtime.kube.errors import Unreachable
    from apportion_runtime.kube.http_server import Counters, served
    from apportion_runtime.kube.log import json_line
    from apportion_runtime.kube.scheduler_process import options_of, run
    from apportion_runtime.snapshots.decision_log import DecisionLogError

    ended, is_json = Event(), chosen.log_format == "json"
    say = log_lines(current(), is_json=is_json)
    counters = Counters()
    try:
        decisions = None if chosen.decision_log is None else DecisionLogWriter(Path(chosen.decision_log))
        connection = connect(chosen.kubeconfig, chosen.context, chosen.write_concurrency)
        election = _election(connection, chosen)
        with ExitStack() as stack:
            termination = stack.enter_context(set_on_termination(ended))
            try:
                port = stack.enter_context(served(chosen.port, counters))
            except OSError as failed:
                raise PreconditionError(f"cannot listen on port {chosen.port}: {failed.strerror}") from None
            line = f"listening on port {port}"
            say(json_line("info", line) if is_json else line)
            run(
                connection,
                options_of(chosen),
                election,
                counters,
                say=say,
                ended=ended,
                file=file,
                decisions=decisions,
                ended_by=lambda: termination.signal or "a request",
            )
    except DecisionLogError as wrong:
        raise PreconditionError(str(wrong)) from None
    except MissingDefinitions as missing:
        raise PreconditionError(str(missing), hint=missing.installation) from None
    except Unreachable as unreachable:
        raise PreconditionError(str(unreachable)) from None


def log_lines(console: Console, *, is_json: bool) -> Callable[[str], None]:
    """Return a function that writes a line to the log, unless the disk of the log is full."""

    def say(text: str) -> None:
        # A scheduler that cannot write its log schedules nevertheless.
        with contextlib.suppress(PreconditionError):
            if not console.quiet:
                console.err(text if is_json else f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {text}")

    return say


def _check(given: Mapping[str, object]) -> None:
    """Raise a usage error for an option with a value that the configuration document may not have either."""
    from apportion_runtime.kube.configuration import FIELDS

    options = _option_names()
    for field in FIELDS:
        value = given.get(field.attribute)
        fault = None if value is None else field.fault(value)
        if fault is not None:
            shown = value if str(value) else "empty"
            raise click.UsageError(f"{options[field.attribute]} {fault}, not {shown}")


def _check_image(image: str) -> None:
    """Raise a usage error if an image is not pinned by its digest."""
    from apportion_compiler.image_reference import pinned_image_fault

    fault = pinned_image_fault(image)
    if fault is not None:
        raise click.UsageError(f"--image `{image}` is invalid: {fault}")


def _option_names() -> Mapping[str | None, str]:
    """Return the options of the command by parameter."""
    return {one.name: one.opts[0] for one in click.get_current_context().command.params}


def _write_monitoring(directory: Path) -> None:
    packaged = files("apportion_runtime.kube").joinpath("monitoring")
    for source, name in _MONITORING.items():
        file = directory / name
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file.write_text(packaged.joinpath(source).read_text(encoding="utf-8"), encoding="utf-8")
        except OSError as refused:
            raise PreconditionError(f"cannot write {file}: {refused.strerror}") from None
        current().out(f"wrote {file}\n")


def _election(connection: Connection, chosen: SchedulerConfiguration) -> LeaderElection | None:
    """Return the candidate for the lease; None without a lease, and in a dry run, which must not write."""
    from apportion_runtime.kube.leader_election import LeaderElection, LeaseTiming

    if chosen.lease is None:
        return None
    namespace, _, name = chosen.lease.partition("/")
    if chosen.dry_run:
        return None
    timing = LeaseTiming(chosen.lease_duration_s, chosen.renew_deadline_s, chosen.retry_period_s)
    return LeaderElection(connection, namespace, name, f"{socket.gethostname()}_{os.getpid()}", timing=timing)

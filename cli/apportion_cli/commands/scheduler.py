"""`apportion scheduler`: run the packaged scheduler on a real cluster."""

from __future__ import annotations

import os
import signal
import socket
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from threading import Event

import click

from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.settings import variable
from apportion_cli.verbosity import console_options

_MONITORING = {
    "dashboard.json": "apportion-scheduler-dashboard.json",
    "alerts.yaml": "apportion-scheduler-alerts.yaml",
}
"""The packaged files, and the names under which they are written."""


@click.command()
@click.option(
    "--kubeconfig", metavar="FILE", help="Kubeconfig file (default: KUBECONFIG, or the pod's service account)."
)
@click.option("--context", metavar="NAME", help="Kubeconfig context to use.")
@click.option(
    "--name",
    "scheduler",
    default="kai-scheduler",
    show_default=True,
    envvar=variable("scheduler-name"),
    help="Schedule pods with this `schedulerName`.",
)
@click.option(
    "--shard",
    metavar="NAME",
    envvar=variable("shard"),
    help="SchedulingShard to use; required if the cluster has more than one.",
)
@click.option(
    "--period",
    default=1.0,
    show_default=True,
    type=click.FloatRange(min=0.05),
    help="Seconds between scheduling cycles.",
)
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="Port of /healthz and /metrics."
)
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME",
    envvar=variable("lease"),
    help="Lease for leader election; omit it to run a single instance.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Report decisions in the log and the metrics, and write nothing to the API server.",
)
@click.option(
    "--write-monitoring",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the Grafana dashboard and the Prometheus alert rules to a directory, and exit.",
)
@console_options
def scheduler(
    *,
    kubeconfig: str | None,
    context: str | None,
    scheduler: str,
    shard: str | None,
    period: float,
    port: int,
    lease: str | None,
    dry_run: bool,
    write_monitoring: Path | None,
) -> None:
    """Run the scheduler, which makes the decisions of KAI Scheduler: queues, gangs and fair shares.

    It reads the objects that `apportion compile` writes for KAI, and replaces KAI's scheduler and pod grouper. It
    allocates whole GPUs only: sharing a GPU requires KAI's binder.

    \b
    apportion scheduler --kubeconfig ~/.kube/config --period 0.5
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    if write_monitoring is not None:
        _write_monitoring(write_monitoring)
        return
    try:
        import kubernetes  # noqa: F401 - what follows needs both.
        import prometheus_client  # noqa: F401
    except ImportError:
        raise PreconditionError(
            "the Kubernetes client is not installed", hint="pip install 'apportion[kube]'"
        ) from None

    from apportion_runtime.kube.connection import connect
    from apportion_runtime.kube.definitions import INSTALLATION, MissingDefinitions
    from apportion_runtime.kube.errors import Unreachable
    from apportion_runtime.kube.http_server import Counters, served
    from apportion_runtime.kube.leader_election import LeaderElection
    from apportion_runtime.kube.scheduler_process import Options, run

    console = current()
    ended = Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: ended.set())

    def say(text: str) -> None:
        if not console.quiet:
            console.err(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {text}")

    counters = Counters()
    try:
        connection = connect(kubeconfig, context)
        election = None if lease is None or dry_run else LeaderElection(connection, *_lease(lease), _holder())
        with served(port, counters) as chosen:
            say(f"listening on port {chosen}")
            run(
                connection,
                Options(scheduler, shard, period, is_dry_run=dry_run),
                election,
                counters,
                say=say,
                ended=ended,
            )
    except MissingDefinitions as missing:
        raise PreconditionError(str(missing), hint=INSTALLATION) from None
    except Unreachable as unreachable:
        raise PreconditionError(str(unreachable)) from None
    except OSError as failed:
        raise PreconditionError(f"cannot listen on port {port}: {failed.strerror}") from None


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


def _lease(text: str) -> tuple[str, str]:
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name):
        raise click.UsageError(f"--lease must be NAMESPACE/NAME, not {text}")
    return namespace, name


def _holder() -> str:
    return f"{socket.gethostname()}_{os.getpid()}"

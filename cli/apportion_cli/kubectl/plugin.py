"""`kubectl apportion`: the entry point of the plugin and its commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TypeVar

import click

from apportion_api.kai.names import POD_GROUP_ANNOTATION
from apportion_cli.cluster_inputs import shard_option, workload_shard_option
from apportion_cli.console import current
from apportion_cli.exit_codes import ExitCode
from apportion_cli.kubectl.live_snapshot import Object, live_inputs, live_objects, snapshot_text
from apportion_cli.main import run
from apportion_cli.options import Output, as_of_option, limits, output_option
from apportion_cli.settings import variable
from apportion_cli.verbosity import console_options

PROGRAM = "kubectl apportion"
Decorated = TypeVar("Decorated", bound=Callable[..., object])


def cluster_options(command: Decorated) -> Decorated:
    """Add the options that choose a cluster."""
    for option in (
        click.option("--context", metavar="NAME", help="Kubeconfig context to use."),
        click.option("--kubeconfig", metavar="FILE", help="Kubeconfig file (default: KUBECONFIG or ~/.kube/config)."),
    ):
        command = option(command)
    return console_options(command)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 success, 1 findings, 2 usage error, 3 environment error, 11 work is evicted (fit), "
    "70 internal error.",
)
@click.version_option(package_name="apportion", prog_name=PROGRAM, message="%(prog)s %(version)s")
def kubectl_apportion() -> None:
    """Show the queues and explain the pending work of a cluster scheduled by KAI Scheduler or `apportion scheduler`."""


@kubectl_apportion.command()
@click.option(
    "--resource",
    type=click.Choice(("gpu", "cpu", "memory")),
    default="gpu",
    show_default=True,
    help="Resource to show.",
)
@shard_option
@output_option("text", "json")
@cluster_options
def top(
    *, resource: str, shard: str | None, outputs: tuple[Output, ...], kubeconfig: str | None, context: str | None
) -> int:
    """Show each queue's guarantee, usage, borrowed amount and limit, with bars.

    \b
    kubectl apportion top
    kubectl apportion top --resource cpu -o json
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_cli.kubectl.queue_bars import bars, capacity, document, queue_uses
    from apportion_runtime.core.session import Session
    from apportion_runtime.snapshots.document import to_json

    console = current()
    inputs = live_inputs(live_objects(kubeconfig, context), shard)
    code = inputs.show(console, "error")
    if inputs.snapshot is None:
        return code or ExitCode.FINDINGS
    session = Session(inputs.snapshot, inputs.settings)
    uses, total = queue_uses(session, resource), capacity(session, resource)
    for output in outputs or (Output("text"),):
        text = to_json(document(uses, resource, total)) if output.format == "json" else bars(uses, resource, total)
        deliver(console, output, text)
    return code


@kubectl_apportion.command()
@click.argument("name", metavar="POD | WORKLOAD | PODGROUP")
@click.option("-n", "--namespace", metavar="NAME", help="Namespace to search (default: all).")
@shard_option
@output_option("text", "json")
@cluster_options
def why(
    name: str,
    *,
    namespace: str | None,
    shard: str | None,
    outputs: tuple[Output, ...],
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Explain why a pod, workload or gang is pending.

    Prints what the scheduler wrote in the condition PodScheduled, and the result of a scheduling cycle that is
    simulated on the current state of the cluster.

    \b
    kubectl apportion why train-7b-worker-0
    kubectl apportion why rayjob/train-7b -n vision
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.cluster_explanations import explain_inputs
    from apportion_cli.kubectl.pending_subjects import pod_group_of, shard_of
    from apportion_cli.kubectl.scheduler_reports import pod_scheduled_messages

    objects = live_objects(kubeconfig, context)
    subject = pod_group_of(objects, name, namespace)
    if isinstance(subject, dict):
        current().out(f"{_ungrouped(subject)}\n")
        return ExitCode.FINDINGS
    shard = shard_of(objects, *subject, shard)
    inputs, reported = live_inputs(objects, shard), pod_scheduled_messages(objects, *subject)
    return explain_inputs("job", "/".join(subject), inputs, outputs=outputs, fail_on="error", reported=reported)


@kubectl_apportion.command()
@click.argument("name", metavar="QUEUE")
@shard_option
@output_option("text", "json")
@cluster_options
def queue(
    name: str, *, shard: str | None, outputs: tuple[Output, ...], kubeconfig: str | None, context: str | None
) -> int:
    """Explain how the fair share of a queue is calculated.

    \b
    kubectl apportion queue vision
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.cluster_explanations import explain_inputs

    inputs = live_inputs(live_objects(kubeconfig, context), shard)
    return explain_inputs("queue", name, inputs, outputs=outputs, fail_on="error")


@kubectl_apportion.command()
@click.option("-f", "--file", required=True, metavar="FILE", help="Manifest of the workload; - reads standard input.")
@click.option(
    "-p",
    "--policy",
    default=".",
    envvar=variable("policy"),
    metavar="POLICY",
    help="Path to the cluster's policy (default: the current directory).",
)
@click.option("-e", "--env", metavar="NAME", help="Environment that the cluster belongs to.")
@click.option("--cluster", metavar="NAME", help="Cluster in the policy, if the environment has more than one.")
@click.option("--queue", "queue_id", metavar="ID", help="Queue of the workload (default: taken from the workload).")
@click.option("--gpu-model", metavar="MODEL", help="GPU model, such as h100, if the workload does not specify one.")
@workload_shard_option
@output_option("text", "json")
@as_of_option
@cluster_options
def fit(
    *,
    file: str,
    policy: str,
    env: str | None,
    cluster: str | None,
    queue_id: str | None,
    gpu_model: str | None,
    shard: str | None,
    outputs: tuple[Output, ...],
    as_of: date,
    kubeconfig: str | None,
    context: str | None,
) -> int:
    """Check whether, where and when a workload would start now, and suggest changes if it would not.

    Exit 0 if it starts now, 11 if running work is evicted for it, 1 if it does not start now.

    \b
    kubectl apportion fit -f job.yaml --policy policy.py --env prod
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.commands.fit import FitRequest, answer_fit
    from apportion_cli.kubectl.live_snapshot import live_snapshot

    request = FitRequest(policy, file, None, queue_id, env, cluster, None, shard, as_of, limits(None, None), gpu_model)
    hint = "pass the policy of the cluster: --policy FILE --env NAME"
    return answer_fit(request, lambda _: live_snapshot(kubeconfig, context), outputs, without_policy=hint)


@kubectl_apportion.command()
@click.option("--out", metavar="FILE", help="File to write (default: standard output).")
@click.option(
    "--anonymise", is_flag=True, help="Replace the names of namespaces, workloads, pods, nodes and labels with numbers."
)
@cluster_options
def snapshot(*, out: str | None, anonymise: bool, kubeconfig: str | None, context: str | None) -> int:
    """Write a snapshot of the cluster for reviews, simulations and explanations.

    \b
    kubectl apportion snapshot --out prod.json
    kubectl apportion snapshot --anonymise --out shared.json
    apportion review main --snapshot prod=prod.json
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver

    objects = live_objects(kubeconfig, context)
    if anonymise:
        from apportion_runtime.snapshots.anonymisation import anonymised

        objects = anonymised(objects)
    deliver(current(), Output("json", out), snapshot_text(objects))
    if out is not None:
        current().err(f"{len(objects)} objects written to {Path(out)}\n")
    return ExitCode.OK


def _ungrouped(pod: Object) -> str:
    """Return why a pod is pending that has no pod group, or whose pod group does not exist, as its scheduler wrote it."""
    from apportion_cli.kubectl.scheduler_reports import pod_scheduled_message

    metadata = pod["metadata"]
    name = f"pod {metadata.get('namespace')}/{metadata['name']}"
    why = pod_scheduled_message(pod)
    scheduler = pod["spec"].get("schedulerName") or "default-scheduler"
    group = (metadata.get("annotations") or {}).get(POD_GROUP_ANNOTATION)
    lacks = f"names the pod group {group}, which does not exist" if group else "has no pod group"
    return f"{name} {lacks} (schedulerName: {scheduler})" + (f": {why}" if why else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the plugin and return its exit code; exceptions are handled."""
    return run(kubectl_apportion, PROGRAM, sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())

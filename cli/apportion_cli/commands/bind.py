"""`apportion bind`: assign a workload to a queue, from a template or existing manifests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.console import current
from apportion_cli.exit_codes import ExitCode
from apportion_cli.manifest_files import objects_of
from apportion_cli.options import Output, as_of_option, fail_on_option, limit_options, limits, output_option
from apportion_cli.scopes import cluster_scope, place_options
from apportion_cli.settings import variable
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from datetime import date

    from apportion_compiler.bindings.bind import BoundWorkload
    from apportion_compiler.bindings.options import Options
    from apportion_compiler.ir.program import Program
    from apportion_compiler.manifests.located_manifest import LocatedManifest


@click.command()
@click.argument("queue")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("-k", "--kind", metavar="KIND", help="Kind of workload: Job, JobSet, CronJob, RayJob, RayCluster, …")
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Manifest of the workloads to bind, or - for standard input.",
)
@click.option(
    "-p", "--policy", default=".", envvar=variable("policy"), type=click.Path(), help="Policy that declares the queue."
)
@place_options
@click.option(
    "-n", "--namespace", metavar="NAME", help="Namespace of the workload (default: the queue's first namespace)."
)
@click.option("--name", metavar="NAME", help="Name of the workload (default: QUEUE-KIND).")
@click.option("--image", metavar="IMAGE", help="Container image.")
@click.option(
    "--workers", "--replicas", type=click.IntRange(min=1), metavar="N", help="Number of workers, scheduled as a gang."
)
@click.option(
    "--min",
    "least",
    type=click.IntRange(min=1),
    metavar="N",
    help="Minimum number of workers; the workload starts once they fit.",
)
@click.option(
    "--max", "most", type=click.IntRange(min=1), metavar="N", help="Maximum number of workers; requires --min."
)
@click.option("--gpus", metavar="N", help="GPUs per worker, or a fraction such as 0.5 if the queue allows GPU sharing.")
@click.option("--gpu-model", metavar="MODEL", help="GPU model, such as h100.")
@click.option("--cpu", metavar="CPU", help="CPU request per pod (default: 1).")
@click.option("--memory", metavar="SIZE", help="Memory request per pod (default: 4Gi).")
@click.option(
    "--priority-class",
    metavar="NAME",
    help="Priority class of the workload; must be allowed by the queue (default: one of the allowed classes).",
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="NAME:KEY[:VARIABLE]",
    help="Environment variable from an existing Secret; may be repeated.",
)
@click.option("--schedule", metavar="CRON", help="Cron schedule of a CronJob (default: 0 2 * * *).")
@click.option(
    "--provisioning",
    metavar="PLAN",
    help="Request all nodes at once, using this provisioning plan from the policy.",
)
@output_option("yaml", "json")
@fail_on_option
@as_of_option
@limit_options
@console_options
def bind(
    queue: str,
    command: tuple[str, ...],
    *,
    kind: str | None,
    file: Path | None,
    policy: str,
    env: str | None,
    cluster: str | None,
    namespace: str | None,
    name: str | None,
    image: str | None,
    workers: int | None,
    least: int | None,
    most: int | None,
    gpus: str | None,
    gpu_model: str | None,
    cpu: str | None,
    memory: str | None,
    priority_class: str | None,
    secrets: tuple[str, ...],
    schedule: str | None,
    provisioning: str | None,
    outputs: tuple[Output, ...],
    fail_on: str,
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Generate a workload manifest for QUEUE on one cluster, or add QUEUE to an existing manifest.

    \b
    apportion bind vision --kind RayJob --workers 4 --gpus 8 -- python train.py
    apportion bind vision --from job.yaml | kubectl apply -f -
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    if (least is None) != (most is None) or (least is not None and workers is not None):
        raise click.UsageError("--min and --max must be passed together and cannot be combined with --workers")
    made = (name, image, workers, least, gpus, cpu, memory, schedule, *secrets, *command)
    if (kind is None) == (file is None):
        raise click.UsageError(
            "specify what to bind: --kind Job for a template, or --from FILE for an existing manifest"
        )
    if file is not None and any(value is not None for value in made):
        raise click.UsageError("--from uses an existing workload: omit its name, image, sizes, schedule and command")
    from apportion_compiler.bindings.options import Options, parse_schedule, parse_secret
    from apportion_policy.quantity import parse_cpu, parse_gpu, parse_memory

    try:
        options = Options(
            name=name,
            namespace=namespace,
            image=image,
            command=command,
            gpus=_amount(parse_gpu(gpus)) if gpus is not None else None,
            gpu_model=gpu_model,
            cpu=_amount(parse_cpu(cpu)) if cpu is not None else None,
            memory=_amount(parse_memory(memory)) if memory is not None else None,
            workers=workers,
            least=least,
            most=most,
            priority_class=priority_class,
            secrets=tuple(parse_secret(secret) for secret in secrets),
            provisioning=provisioning,
            schedule=None if schedule is None else parse_schedule(schedule),
        )
    except ValueError as wrong:
        raise click.UsageError(str(wrong)) from wrong
    documents = None if file is None else objects_of(str(file))
    from apportion_cli.findings import show_findings
    from apportion_cli.inputs import read_policy

    console = current()
    inputs = read_policy(policy, limits(time_limit, memory_limit))
    from apportion_compiler.compile import check_policy
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_compiler.ir.lower import lower

    if inputs.policy is None:
        return show_findings(console, inputs, inputs.diagnostics, fail_on)
    checked = check_policy(inputs.policy, as_of)
    if checked.graph is None or has_errors(checked.diagnostics):
        return show_findings(console, inputs, checked.diagnostics, fail_on)
    program = lower(checked.graph, cluster_scope(checked.graph, env, cluster))
    placed = _bound(program, queue, kind=kind, documents=documents, options=options)
    style = console.style(stderr=True)
    for remark in placed.remarks:
        console.err(f"apportion: {style('warning', 'warning')}: {remark}")
    for note in placed.notes:
        console.err(f"apportion: {style('heading', 'note')}: {note}")
    from apportion_cli.delivery import deliver

    for output in outputs or (Output("yaml"),):
        deliver(console, output, _text(placed, output.format))
    return ExitCode.OK


def _bound(
    program: Program,
    queue: str,
    *,
    kind: str | None,
    documents: Sequence[LocatedManifest] | None,
    options: Options,
) -> BoundWorkload:
    from apportion_compiler.bindings.bind import adopt, bound
    from apportion_compiler.bindings.errors import BindingError

    try:
        if documents is not None:
            return adopt(program, queue, [placed.manifest for placed in documents], options)
        return bound(program, queue, kind or "", options)
    except BindingError as refused:
        if documents is None or refused.index is None:
            raise click.UsageError(str(refused)) from refused
        at = documents[refused.index].at("metadata.name")
        raise click.UsageError(f"{at.file}:{at.line}: {refused}") from refused


def _amount(amount: int | str) -> int:
    if isinstance(amount, str):
        raise ValueError("a resource request cannot be unlimited")
    return amount


def _text(bound: BoundWorkload, form: str) -> str:
    if form == "json":
        import json

        objects = list(bound.objects)
        document = objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects}
        # YAML has dates, which JSON does not support.
        return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"
    from apportion_compiler.dumper import dump_all

    return dump_all(bound.objects)

"""`apportion explain`: a rule's page, a queue of a policy, or a job or queue of a cluster."""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from apportion_cli.cluster_inputs import moment, shard_option
from apportion_cli.console import current
from apportion_cli.exit_codes import ExitCode
from apportion_cli.options import Output, as_of_option, fail_on_option, limit_options, limits, output_option
from apportion_cli.scopes import place_options
from apportion_cli.settings import variable
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from apportion_cli.share_sections import ShareSection
    from apportion_compiler.explain import QueueExplanation

_CODE = re.compile(r"AP\d{3}")
_SUBJECTS = "specify a rule such as AP201, a queue (queue vision) or, with --snapshot, a job"


@click.command()
@click.argument("subject", nargs=-1, required=True, metavar="RULE | queue ID | job NAME")
@click.option(
    "-p", "--policy", default=".", envvar=variable("policy"), type=click.Path(), help="Policy that declares the queue."
)
@place_options
@click.option(
    "--snapshot",
    "snapshots",
    multiple=True,
    type=click.Path(),
    metavar="SNAPSHOT",
    help="Cluster snapshot, in a format that `simulate --cycle` accepts; may be repeated.",
)
@click.option(
    "--peer",
    metavar="QUEUE",
    help="Sibling to compare fair shares with (default: the one with the largest share).",
)
@moment
@shard_option
@output_option("text", "json")
@fail_on_option
@as_of_option
@limit_options
@console_options
def explain(
    subject: tuple[str, ...],
    policy: str,
    env: str | None,
    cluster: str | None,
    *,
    snapshots: tuple[str, ...],
    peer: str | None,
    now: float | None,
    shard: str | None,
    outputs: tuple[Output, ...],
    fail_on: str,
    as_of: date,
    time_limit: float | None,
    memory_limit: int | None,
) -> int:
    """Explain a rule, or every value of a queue and where it comes from.

    With --env, explain how the fair share of the queue is calculated, and why a sibling gets more or less.

    With --snapshot, explain why a job is pending or evicted in the next cycle, or how the fair share of a queue is
    calculated.

    \b
    apportion explain AP201
    apportion explain queue vision --env prod --peer speech
    apportion explain job train-7 --snapshot cluster.yaml
    apportion explain queue vision --snapshot cluster.yaml
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver

    console = current()
    if peer is not None and (env is None or snapshots):
        raise click.UsageError("--peer requires --env and a queue in a policy")
    match subject:
        case ("job" | "queue" as kind, name) if snapshots:
            from apportion_cli.cluster_explanations import explain_in_cluster

            return explain_in_cluster(kind, name, snapshots, now=now, shard=shard, outputs=outputs, fail_on=fail_on)
        case ("job", _):
            raise click.UsageError("explaining a job requires --snapshot")
        case (code,) if _CODE.fullmatch(code.upper()):
            from apportion_cli.rule_pages import rule_page

            console.out(rule_page(code.upper()))
            return ExitCode.OK
        case ("queue", id_) | (id_,):
            pass
        case _:
            raise click.UsageError(_SUBJECTS)
    from apportion_cli.findings import show_findings
    from apportion_cli.inputs import read_policy

    inputs = read_policy(policy, limits(time_limit, memory_limit))
    from apportion_cli.scopes import scope_of
    from apportion_compiler.compile import check_policy
    from apportion_compiler.explain import explain_queue

    if inputs.policy is None:
        exit_code = show_findings(console, inputs, inputs.diagnostics, fail_on)
        if len(subject) == 1:
            console.err(f"{id_} is not a rule, so it was looked up as a queue; {_SUBJECTS}")
        return exit_code
    checked = check_policy(inputs.policy, as_of)
    if checked.graph is None:
        return show_findings(console, inputs, checked.diagnostics, fail_on)
    if id_ not in checked.graph.nodes:
        close = get_close_matches(id_, checked.graph.nodes, n=1)
        raise click.UsageError(f"queue {id_} does not exist" + (f"; did you mean {close[0]}?" if close else ""))
    from apportion_cli.share_sections import share_hint, share_section

    scope = scope_of(checked.graph, env, cluster)
    explanation = explain_queue(checked.graph, scope, id_)
    shares = None if scope.name is None else share_section(checked, checked.graph, scope.name, id_, peer)
    for output in outputs or (Output("text"),):
        text = (
            _json(explanation, shares)
            if output.format == "json"
            else _text(explanation, shares, share_hint(checked.graph.policy) if scope.name is None else ())
        )
        deliver(console, output, text)
    return ExitCode.OK


def _text(explanation: QueueExplanation, shares: ShareSection | None, hint: Sequence[str]) -> str:
    width = max(len(value.field) for value in explanation.values)
    lines = [
        f"queue {explanation.id}, {explanation.scope}  ({explanation.at.file}:{explanation.at.line})",
        f"  {' / '.join(explanation.path)}",
        "",
    ]
    for value in explanation.values:
        lines.append(f"{value.field:<{width}}  {value.value}")
        place = f"  {value.at.file}:{value.at.line}" if value.at.line else ""
        lines.append(f"{'':<{width}}    {value.origin}{place}")
    if shares is not None:
        from apportion_cli.share_sections import section_lines

        lines += ["", *section_lines(shares)]
    if hint:
        lines += ["", *hint]
    return "\n".join(lines) + "\n"


def _json(explanation: QueueExplanation, shares: ShareSection | None) -> str:
    document: dict[str, object] = {
        "apiVersion": "apportion.dev/v1",
        "kind": "QueueExplanation",
        "queue": explanation.id,
        "path": list(explanation.path),
        "scope": explanation.scope,
        "values": [
            {
                "field": value.field,
                "value": value.value,
                "origin": value.origin,
                "file": value.at.file if value.at.line else None,
                "line": value.at.line or None,
            }
            for value in explanation.values
        ],
    }
    if shares is not None:
        from apportion_cli.share_sections import section_document

        document["fairShare"] = section_document(shares)
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

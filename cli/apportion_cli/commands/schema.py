"""`apportion schema`: JSON Schemas of input and output documents."""

from __future__ import annotations

import json

import click

from apportion_cli.console import current
from apportion_cli.verbosity import console_options


@click.command(
    epilog="To validate a document in an editor that uses the YAML language server, make this its first line:\n\n"
    "\b\n# yaml-language-server: $schema=policy.schema.json"
)
@click.option(
    "--for",
    "name",
    type=click.Choice(["policy", "report", "diff", "review", "fit", "advise", "snapshot", "scheduler"]),
    default="policy",
    show_default=True,
    help="Schema to print: a policy document, the output of `validate`, `diff`, `review`, `fit` or `advise` with "
    "`-o json`, the snapshot of `simulate --cycle`, or the configuration of `scheduler`.",
)
@console_options
def schema(name: str) -> None:
    """Print a JSON Schema (draft 2020-12).

    \b
    apportion schema --for policy > policy.schema.json
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    if name == "snapshot":
        from apportion_runtime.snapshots.schema import snapshot_schema

        current().out(json.dumps(snapshot_schema(), indent=2) + "\n")
        return
    if name == "scheduler":
        from apportion_runtime.kube.configuration import configuration_schema

        current().out(json.dumps(configuration_schema(), indent=2) + "\n")
        return
    if name in ("policy", "report"):
        from apportion_compiler.schemas import schema_text
    else:
        from apportion_review.schemas import schema_text
    current().out(schema_text(name))

"""`apportion schema`: the JSON Schema of what is read and written."""

from __future__ import annotations

import json

import click

from apportion_cli.console import current
from apportion_cli.verbosity import console_options


@click.command(
    epilog="Editors with the YAML language server take it from the first line of a document: "
    "# yaml-language-server: $schema=policy.schema.json"
)
@click.option(
    "--for",
    "name",
    type=click.Choice(["policy", "report", "snapshot"]),
    default="policy",
    show_default=True,
    help="A policy document, what `validate -o json` writes, or what `simulate --cycle` reads.",
)
@console_options
def schema(name: str) -> None:
    """Print a JSON Schema (draft 2020-12)."""
    if name == "snapshot":
        from apportion_runtime.snapshots.schema import snapshot_schema

        current().out(json.dumps(snapshot_schema(), indent=2) + "\n")
        return
    from apportion_compiler.schemas import schema_text

    current().out(schema_text(name))

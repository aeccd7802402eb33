"""`apportion rules`: every rule, its severity and its summary."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from apportion_cli.console import Console, current
from apportion_cli.options import Output, output_option
from apportion_cli.verbosity import console_options

if TYPE_CHECKING:
    from apportion_compiler.diagnostics.diagnostic import Rule

FAMILIES = {
    "AP0": "authoring",
    "AP1": "structure",
    "AP2": "quotas",
    "AP3": "topology",
    "AP4": "priority classes",
    "AP5": "unsupported features",
    "AP6": "node pools and capacity",
    "AP7": "manifests",
    "AP8": "cluster snapshots",
}


@click.command()
@output_option("text", "json", "md")
@console_options
def rules(outputs: tuple[Output, ...]) -> None:
    """List the rules with their code, name, default severity and summary.

    A policy changes severities with `Rules(severity={"AP204": "off"})`; rules marked as required are always errors.
    `apportion explain CODE` shows the documentation of a rule.

    \b
    apportion rules -o json
    """  # noqa: D301 - click takes the character, and writes the lines below it as they are
    from apportion_cli.delivery import deliver
    from apportion_compiler.checks import RULES

    console = current()
    for output in outputs or (Output("text"),):
        deliver(console, output, _RENDERED[output.format](RULES.values(), console))


def _text(rules: Iterable[Rule], console: Console) -> str:
    style = console.style()
    lines: list[str] = []
    family = ""
    for rule in rules:
        if rule.code[:3] != family:
            family = rule.code[:3]
            lines += [*([""] if lines else []), style("heading", FAMILIES[family])]
        severity = "required" if rule.required else rule.severity.value
        role = style(rule.severity.value, f"{severity:<8}")
        lines.append(f"  {rule.code}  {role}  {rule.name}")
        if not console.quiet:
            lines.append(f"                   {rule.summary}")
    return "\n".join(lines) + "\n"


def _json(rules: Iterable[Rule], _: Console) -> str:
    listed = [
        {
            "code": rule.code,
            "name": rule.name,
            "family": FAMILIES[rule.code[:3]],
            "severity": rule.severity.value,
            "required": rule.required,
            "summary": rule.summary,
            "docs": rule.docs,
        }
        for rule in rules
    ]
    return json.dumps({"apiVersion": "apportion.dev/v1", "kind": "RuleList", "rules": listed}, indent=2) + "\n"


def _md(rules: Iterable[Rule], _: Console) -> str:
    return rule_table(rules)


def rule_table(rules: Iterable[Rule]) -> str:
    """Return the rules as a table in Markdown."""
    rows = [
        f"| [{rule.code}]({rule.docs}) | {rule.name} | {rule.severity.value}{' (required)' if rule.required else ''} "
        f"| {rule.summary} |"
        for rule in rules
    ]
    return "\n".join(("| code | name | severity | summary |", "| --- | --- | --- | --- |", *rows)) + "\n"


_RENDERED = {"text": _text, "json": _json, "md": _md}

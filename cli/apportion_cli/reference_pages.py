"""Generated documentation pages: one for each command, and the list of diagnostics.

`mkdocs_hooks.py` adds them to the site during the build; they are not committed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping

import click

from apportion_cli.verb_group import VerbGroup
from apportion_cli.verbs import VERBS

_PROGRAM = "apportion"
_PAGE_OF_DOCS = re.compile(r"docs/([a-z0-9/-]+)\.md")
_FLAG = re.compile(r"(?<![\w/&#-])--?[a-z][a-z-]*\b")
_SHARED = ("quiet", "verbose", "color", "debug", "settings_from", "help")
_VERBATIM = "\b\n"


def reference_pages() -> Mapping[str, str]:
    """Return text by path: a page for each command except `dev`, a list of commands, and a list of diagnostics."""
    group = VerbGroup(_PROGRAM)
    ctx = click.Context(group)
    pages = {"commands/index.md": _command_list(), "diagnostics/index.md": _diagnostics()}
    for name in VERBS:
        command = group.get_command(ctx, name)
        if command is not None and name != "dev":
            pages[f"commands/{name}.md"] = _page(name, command)
    return pages


def _diagnostics() -> str:
    from apportion_cli.commands.rules import FAMILIES, rule_table
    from apportion_compiler.checks import RULES

    lines = [
        "# Diagnostics",
        "",
        "Every finding has a permanent code. `apportion explain CODE` prints a rule's page.",
        'A policy can set the severity of a rule (`Rules(severity={"AP204": "off"})`), unless the rule is required.',
        "",
    ]
    for prefix, family in FAMILIES.items():
        table = rule_table(rule for rule in RULES.values() if rule.code.startswith(prefix))
        lines += [f"## {family[0].upper()}{family[1:]}", "", table.replace("](docs/diagnostics/", "](")]
    return "\n".join(lines)


def _command_list() -> str:
    lines = [
        "# Commands",
        "",
        "`apportion --help` prints this list; `apportion COMMAND --help` prints the content of a page.",
        "",
    ]
    for section in dict.fromkeys(verb.section for verb in VERBS.values()):
        lines += [f"## {section}", "", "| command | purpose |", "|---|---|"]
        for name, verb in VERBS.items():
            if verb.section == section:
                shown = f"`{name}`" if name == "dev" else f"[`{name}`]({name}.md)"
                lines.append(f"| {shown} | {_text(verb.help)} |")
        lines.append("")
    lines += ["## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in _EXIT_CODES]
    return "\n".join(lines) + "\n"


_EXIT_CODES = (
    ("0", "success"),
    ("1", "findings"),
    ("2", "usage error"),
    ("3", "environment error"),
    ("10", "changes found (`compile --check`, `preview`, `drift`)"),
    ("70", "internal error"),
)


def _page(name: str, command: click.Command) -> str:
    ctx = click.Context(command, info_name=f"{_PROGRAM} {name}")
    lines = [f"# {_PROGRAM} {name}", ""]
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        lines += [*_paragraph(paragraph), ""]
    usage = " ".join((ctx.command_path, *command.collect_usage_pieces(ctx)))
    lines += ["## Usage", "", "```text", usage, "```", ""]
    own = [shown for shown in command.get_params(ctx) if shown.name not in _SHARED]
    shared = [shown for shown in command.get_params(ctx) if shown.name in _SHARED]
    for title, options in (("Options", own), ("Global options", shared)):
        rows = [record for option in options if (record := option.get_help_record(ctx)) is not None and record[1]]
        if rows:
            lines += [f"## {title}", ""]
            for flags, meaning in rows:
                lines += [f"`{flags}`", f":   {_text(meaning)}", ""]
    if command.epilog:
        for paragraph in inspect.cleandoc(command.epilog).split("\n\n"):
            lines += [*_paragraph(paragraph), ""]
    verb = VERBS[name]
    if verb.aliases:
        lines += ["Alias: " + ", ".join(f"`{_PROGRAM} {alias}`" for alias in verb.aliases), ""]
    return "\n".join(lines).rstrip() + "\n"


def _paragraph(text: str) -> Iterator[str]:
    if text.startswith(_VERBATIM):
        yield from ("```sh", text.removeprefix(_VERBATIM), "```")
    else:
        yield _text(" ".join(text.split()))


def _text(text: str) -> str:
    """Escape text that Markdown would interpret as markup outside of code, and link the pages of docs/."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _linked(_escaped(part)) for part in parts)


def _escaped(text: str) -> str:
    for character, written in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        ("*", "&#42;"),
        ("_", "&#95;"),
        ("|", "&#124;"),
        ("[", "&#91;"),
    ):
        text = text.replace(character, written)
    return text


def _linked(text: str) -> str:
    return _FLAG.sub(r"`\g<0>`", _PAGE_OF_DOCS.sub(r"[\1](../\1.md)", text))

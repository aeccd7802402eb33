"""A click group that imports a command's module on first use."""

from __future__ import annotations

from importlib import import_module

import click
from click.shell_completion import CompletionItem

from apportion_cli.verbs import ALIASES, VERBS

_WIDEST = max(map(len, VERBS))


class VerbGroup(click.Group):
    """Lists the commands of the table without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        verb = VERBS.get(ALIASES.get(cmd_name, cmd_name))
        if verb is None:
            return None
        module, _, attribute = verb.target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in VERBS or name in ALIASES:
            return ALIASES.get(name, name), self.get_command(ctx, name), args[1:]
        import difflib

        near = difflib.get_close_matches(name, [*VERBS, *ALIASES], n=1)
        raise click.UsageError(f"unknown command `{name}`" + (f"; did you mean `{near[0]}`?" if near else ""), ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in dict.fromkeys(verb.section for verb in VERBS.values()):
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (name.ljust(_WIDEST), verb.help + "".join(f" (alias: {alias})" for alias in verb.aliases))
                        for name, verb in VERBS.items()
                        if verb.section == section
                    ]
                )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        verbs = [CompletionItem(name, help=verb.help) for name, verb in VERBS.items() if name.startswith(incomplete)]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

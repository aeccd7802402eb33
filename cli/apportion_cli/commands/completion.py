"""`apportion completion`: click's own completion scripts."""

from __future__ import annotations

import click

from apportion_cli.console import current
from apportion_cli.verbosity import console_options


@click.command(
    epilog="Load the script from your shell's startup files: `source <(apportion completion bash)` in ~/.bashrc, "
    "`source <(apportion completion zsh)` in ~/.zshrc, or "
    "`apportion completion fish > ~/.config/fish/completions/apportion.fish`."
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@console_options
def completion(shell: str) -> None:
    """Print the shell completion script."""
    from click.shell_completion import get_completion_class

    from apportion_cli.main import PROGRAM, apportion

    chosen = get_completion_class(shell)
    assert chosen is not None
    current().out(chosen(apportion, {}, PROGRAM, "_APPORTION_COMPLETE").source())

"""The entry point: the command group, and its exit codes.

Help imports no large module except click; `verbs.py` lists the commands.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import sys
from collections.abc import Sequence

import click
from click.exceptions import Exit

from apportion_cli.console import Console, current, drop_output
from apportion_cli.errors import PreconditionError
from apportion_cli.exit_codes import ExitCode
from apportion_cli.verb_group import VerbGroup
from apportion_cli.verbosity import console_options

PROGRAM = "apportion"
_COMPLETE = "_APPORTION_COMPLETE"


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 success, 1 findings, 2 usage error, 3 environment error, 10 changes, 11 failed gates, "
    "70 internal error.",
)
@click.version_option(package_name="apportion", prog_name=PROGRAM, message="%(prog)s %(version)s")
@console_options
def apportion() -> None:
    """Policy as code for shared AI clusters: validate it, compile it for every engine, simulate it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; exceptions are handled."""
    return run(apportion, PROGRAM, sys.argv[1:] if arguments is None else arguments)


def run(group: click.Group, program: str, arguments: Sequence[str]) -> int:
    """Run a command of a group and return its exit code; exceptions are handled.

    Args:
        group: The group.
        program: How a user calls it.
        arguments: Its arguments.
    """
    # The command is short-lived, and creates few reference cycles. At its end, the memory is not searched for them either.
    gc.disable()
    atexit.register(gc.freeze)
    given = list(arguments)
    ctx: click.Context | None = None
    try:
        if group is apportion and os.environ.get(_COMPLETE):
            return _complete(os.environ[_COMPLETE])
        with group.make_context(program, given.copy()) as ctx:
            return int(group.invoke(ctx) or ExitCode.OK)
    except Exit as ended:
        return ended.exit_code
    except click.ClickException as wrong:
        return _refused(wrong, program)
    except PreconditionError as cannot:
        return _cannot(cannot, program)
    except BrokenPipeError:
        drop_output()
        return ExitCode.OK
    except (KeyboardInterrupt, click.Abort):
        Console().err(f"{program}: interrupted")
        return ExitCode.INTERRUPTED
    # This is the outermost function of every command: an unexpected exception of any type is reported as an internal error,
    # with a file for the bug report, instead of a traceback.
    except Exception as fault:  # noqa: BLE001
        from apportion_cli.crash_report import report_crash

        debug = "--debug" in given or (ctx is not None and current(ctx).debug)
        return report_crash(fault, given, debug=debug)


def _refused(wrong: click.ClickException, program: str) -> int:
    if isinstance(wrong, click.FileError):
        return _cannot(PreconditionError(wrong.format_message()), program)
    shown = io.StringIO()
    wrong.show(file=shown)
    Console().err(shown.getvalue())
    return ExitCode.USAGE


def _cannot(cannot: PreconditionError, program: str) -> int:
    console = Console()
    style = console.style(stderr=True)
    console.err(f"{program}: {style('error', 'error')}: {cannot}")
    if cannot.hint is not None:
        console.err(f"  {style('hint', 'hint:')} {cannot.hint}")
    return ExitCode.CANNOT


def _complete(instruction: str) -> int:
    from click.shell_completion import shell_complete

    return shell_complete(apportion, {}, PROGRAM, _COMPLETE, instruction)


if __name__ == "__main__":
    sys.exit(main())

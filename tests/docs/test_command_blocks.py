"""Every command in the documentation is run as written, and prints the output on its page.

`pytest -m slow tests/docs --update-golden` writes what they print into the pages.
"""

from __future__ import annotations

import base64
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from apportion_cli.main import apportion
from apportion_cli.reference_pages import reference_pages

from .command_blocks import Command, Step, agrees, brought_up_to_date, steps, steps_of, with_output
from .pages import PAGES, Page

ROOT = Path(__file__).parents[2]
_CAN_FAIL = {1, 10}
_REDIRECTION = re.compile(r"""("[^"]*"|'[^']*')|\d?[<>].*""")
"""A redirection to the end of its command; not a comparison in quotes."""


def _pages() -> list[str]:
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    with_commands = [page for page in documents if any(isinstance(step, Command) for step in steps(page))]
    return sorted(page.relative_to(ROOT).as_posix() for page in with_commands)


def test_every_page_with_commands_is_tested() -> None:
    assert _pages() == sorted(PAGES)


def _invocations(text: str) -> list[list[str]]:
    """The arguments of each `apportion` in a script, as far as a shell has nothing to expand in them."""
    joined = text.replace("\\\n", " ")
    parts = re.split(r"\||&&|;|\n", re.sub(r"\s#.*", "", joined, flags=re.MULTILINE))
    commands = [_REDIRECTION.sub(lambda found: found[1] or "", part) for part in parts]
    return [shlex.split(command)[1:] for command in commands if re.match(r"\s*apportion(\s|$)", command)]


@pytest.mark.parametrize("name", PAGES)
def test_options_on_pages_exist(name: str) -> None:
    _parse(steps(ROOT / name))


def test_options_in_help_examples_exist() -> None:
    for text in reference_pages().values():
        _parse(steps_of(text))


def _parse(done: list[Step]) -> None:
    ctx = click.Context(apportion)
    for step in done:
        for arguments in _invocations(step.text) if isinstance(step, Command) else ():
            _, command, rest = apportion.resolve_command(ctx, arguments)
            assert command is not None
            command.make_parser(click.Context(command)).parse_args(list(rest))


def _script(done: list[Step], page: Page, folder: Path) -> str:
    """Return a program for bash that takes the steps in one shell and keeps what each printed."""
    lines = ["set -o pipefail"]
    for number, step in enumerate(done):
        if isinstance(step, Command):
            out = shlex.quote(str(folder / str(number)))
            before = f"{page.before[step.text]}\n" if step.text in page.before else ""
            # The trap sees the commands of a script that are not its last.
            lines.append(f"{before}echo 0 >{out}.code; trap 'echo $? >{out}.code' ERR")
            lines.append(f"{{ {step.text}\n}} >{out}.out 2>&1 </dev/null; trap - ERR")
        else:
            encoded = base64.b64encode(step.text.encode()).decode()
            path = shlex.quote(step.path)
            lines.append(f"mkdir -p $(dirname {path}) && echo {encoded} | base64 --decode >{path}")
    return "\n".join(lines) + "\n"


def _programs(folder: Path, page: Page) -> None:
    for name, body in page.programs.items():
        stub = folder / name
        stub.write_text(f"#!/bin/bash\n{body}")
        stub.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_page_commands_produce_the_shown_output(name: str, tmp_path: Path, update_golden: bool) -> None:
    page = PAGES[name]
    done = [step for step in steps(ROOT / name) if page.consoles or not _is_console(step)]
    for folder in ("bin", "home", "reader", "kept"):
        (tmp_path / folder).mkdir()
    (tmp_path / "reader/examples").symlink_to(ROOT / "examples")
    _programs(tmp_path / "bin", page)
    surroundings = {
        key: value for key, value in os.environ.items() if not key.startswith(("APPORTION_", "GITHUB_", "CI"))
    }
    environment = {
        **surroundings,
        "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "REAL_MAKE": shutil.which("make") or "make",
        "REPOSITORY": str(ROOT),
        "START": str(tmp_path / "reader"),
        "TOOLS": str(Path(__file__).parent / "tools"),
        "GIT_CONFIG_GLOBAL": str(Path(__file__).parent / "tools/gitconfig"),
        "COLUMNS": "100",
    }
    script = f"set -e\n{page.setup}\nset +e\n{_script(done, page, tmp_path / 'kept')}"
    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path / "reader",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    wrong = []
    updates = []
    for number, step in enumerate(done):
        if not isinstance(step, Command):
            continue
        printed = (tmp_path / f"kept/{number}.out").read_text(encoding="utf-8")
        code = int((tmp_path / f"kept/{number}.code").read_text())
        expected = next((code for beginning, code in page.exits.items() if step.text.startswith(beginning)), 0)
        # A command that fails is shown with what it says.
        right = code == expected or (code in _CAN_FAIL and step.printed)
        if right and update_golden and step.printed and not agrees(step.printed, printed):
            updates.append((step, brought_up_to_date(step.printed, printed)))
        elif not right or (step.printed and not agrees(step.printed, printed)):
            wrong.append(f"{name}:{step.line}: $ {step.text}\nexit code {code}\n{printed}")
    if updates:
        text = (ROOT / name).read_text(encoding="utf-8")
        (ROOT / name).write_text(with_output(text, updates), encoding="utf-8")
    assert not wrong, "\n\n".join(wrong)


def _is_console(step: Step) -> bool:
    return isinstance(step, Command) and not step.text.endswith("\n")

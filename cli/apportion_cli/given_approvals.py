"""The owners who have approved, from `--require-approvals`: a list, or a file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.errors import PreconditionError

if TYPE_CHECKING:
    from apportion_review.facts import Facts

_OPTION = "--require-approvals"
_COMMENT = re.compile(r"(?:^|\s)#")
"""The beginning of a comment; an owner such as `slack:#vision` contains the character."""
_PATH = re.compile(r"[/\\]|\.[A-Za-z]{1,5}$")


def owners_of(*policies: Facts) -> tuple[str, ...]:
    """Return every owner in the policies, in order."""
    return tuple(
        sorted(
            {str(value) for facts in policies for fact, value in facts.values.items() if fact.field[-1:] == ("owner",)}
        )
    )


def given_approvals(text: str, owners: Collection[str]) -> tuple[str, ...]:
    """Return the owners in a file, one per line, or in a comma-separated list.

    Args:
        text: The value of the option.
        owners: Owners in the policies.

    Raises:
        PreconditionError: If the file cannot be read.
        click.UsageError: If the value is neither an existing file nor the name of an owner.
    """
    path = Path(text)
    if text.strip() and path.exists():
        return _of_file(path)
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    known = {owner.casefold() for owner in owners}
    if not any(name.casefold() in known for name in names) and _is_no_list(names):
        raise click.UsageError(_refusal(text, owners))
    return names


def approvals_digest(text: str, owners: Sequence[str]) -> dict[str, str]:
    """Return the digest of the owners in a file, by name; nothing for a list, which is part of the command.

    Args:
        text: The value of the option.
        owners: The owners that it gives.
    """
    if not text.strip() or not Path(text).exists():
        return {}
    return {"approvals": f"sha256:{hashlib.sha256(chr(10).join(owners).encode()).hexdigest()}"}


def _of_file(path: Path) -> tuple[str, ...]:
    if path.is_dir():
        raise PreconditionError(f"{_OPTION}: {path} is a directory; pass a file with one owner per line")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as refused:
        raise PreconditionError(f"{path} cannot be read: {refused}") from None
    names = (_COMMENT.split(line, maxsplit=1)[0].strip() for line in lines)
    return tuple(name for name in names if name)


def _is_no_list(names: tuple[str, ...]) -> bool:
    """Return whether names look like a path or a word instead of a list.

    Names with an `@` may be of reviewers who own nothing.
    """
    plain = [name for name in names if "@" not in name]
    return any(_PATH.search(name) for name in plain) or (len(names) == 1 and bool(plain))


def _refusal(text: str, owners: Collection[str]) -> str:
    near = get_close_matches(text, owners, n=1)
    if not near:
        # The last part of an owner is the name of the team.
        near = [owner for owner in owners if owner.rpartition("/")[2].lstrip("@").casefold() == text.casefold()][:1]
    instead = f"did you mean {near[0]}?" if near else "create a file with one owner per line, or list the owners"
    listed = "" if near or not owners else f", such as {min(owners)}"
    return f"{_OPTION} {text}: the file does not exist, and no owner in the policies has this name; {instead}{listed}"

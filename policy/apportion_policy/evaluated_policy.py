"""The policy of an evaluation, with what its author wrote that is not part of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from apportion_policy import wire
from apportion_policy.evaluation.parent import Evaluated
from apportion_policy.evaluation.unread_files import MAX_FILES, unread_files
from apportion_policy.omission import FILE, FOLDER, Omission
from apportion_policy.policy import Policy, set_omissions
from apportion_policy.source import SourceLocation


def policy_of(outcome: Evaluated, root: Path) -> Policy:
    """Return the policy that was evaluated, its files named relative to a folder.

    Raises:
        WireError: If the answer of the evaluation is no policy.
    """
    policy = wire.load(outcome.document, root)
    unread = unread_files(outcome.tree, outcome.files)
    declarations = [replace(omission, shared=unread.other_policies) for omission in policy.omissions]
    folder = Path(outcome.tree.entry).parent
    files = [
        Omission(FILE, Path(file).relative_to(folder).as_posix(), _first_line(file, root), unread.other_policies)
        for file in unread.files
    ]
    rest = [Omission(FOLDER, str(MAX_FILES), _first_line(outcome.tree.entry, root))] if not unread.all_seen else []
    set_omissions(policy, (*declarations, *files, *rest))
    return policy


def _first_line(file: str, root: Path) -> SourceLocation:
    path = Path(file)
    return SourceLocation(path.relative_to(root).as_posix() if path.is_relative_to(root) else file, 1)

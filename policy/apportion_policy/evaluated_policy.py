"""The policy of an evaluation, with declarations and files that are not part of it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel

from apportion_policy import wire
from apportion_policy.agreement import Agreement, agreement_of
from apportion_policy.evaluation.limits import MIB
from apportion_policy.evaluation.result import EvaluatedPolicy
from apportion_policy.evaluation.unread_files import MAX_FILES, MAX_TOTAL_BYTES, unread_files
from apportion_policy.omission import FILE, FOLDER, Omission
from apportion_policy.policy import Policy, set_agreement, set_omissions
from apportion_policy.source import SourceLocation


def policy_of(outcome: EvaluatedPolicy, root: Path, agreed: Agreement | None = None) -> Policy:
    """Return the evaluated policy, with file names relative to a folder.

    Args:
        outcome: The outcome of the evaluation.
        root: The folder.
        agreed: Permissions of the caller; by default those in environment variables.

    Raises:
        WireError: If the response of the evaluation is not a policy.
        AgreementError: If the variables contain invalid names.
    """
    agreed = agreement_of(os.environ) if agreed is None else agreed
    policy = _with_reserved(wire.load(outcome.document, root), agreed.reserved_namespaces)
    set_agreement(policy, agreed)
    unread = unread_files(outcome.tree, outcome.files)
    declarations = [replace(omission, shared=unread.other_policies) for omission in policy.omissions]
    folder = Path(outcome.tree.entry).parent
    files = [
        Omission(FILE, Path(file).relative_to(folder).as_posix(), _first_line(file, root), unread.other_policies)
        for file in unread.files
    ]
    searched = f"{MAX_FILES} files and {MAX_TOTAL_BYTES // MIB} MiB"
    rest = [Omission(FOLDER, searched, _first_line(outcome.tree.entry, root))] if not unread.all_seen else []
    set_omissions(policy, (*declarations, *files, *rest))
    return policy


def _with_reserved(policy: Policy, names: tuple[str, ...]) -> Policy:
    if not names:
        return policy
    rules = policy.rules
    reserved = {"reserved_namespaces": (*rules.reserved_namespaces, *names)}
    # Copies by an author are validated and get a new location; these keep their original location.
    made = BaseModel.model_copy(policy, update={"rules": BaseModel.model_copy(rules, update=reserved)})
    assert isinstance(made, Policy)  # A copy has the type of the original.
    set_omissions(made, policy.omissions)
    return made


def _first_line(file: str, root: Path) -> SourceLocation:
    path = Path(file)
    return SourceLocation(path.relative_to(root).as_posix() if path.is_relative_to(root) else file, 1)

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
    """Return the policy that was evaluated, its files named relative to a folder.

    Args:
        outcome: Of the evaluation.
        root: The folder.
        agreed: What the caller agrees to; None for what the variables of this process say.

    Raises:
        WireError: If the answer of the evaluation is no policy.
        AgreementError: If the variables do not hold names.
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
    # The author's own copies are validated and stand where they are made; these stay where they were written.
    made = BaseModel.model_copy(policy, update={"rules": BaseModel.model_copy(rules, update=reserved)})
    assert isinstance(made, Policy)  # a copy has the type of what it copies
    set_omissions(made, policy.omissions)
    return made


def _first_line(file: str, root: Path) -> SourceLocation:
    path = Path(file)
    return SourceLocation(path.relative_to(root).as_posix() if path.is_relative_to(root) else file, 1)

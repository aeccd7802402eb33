"""The two sides of a comparison: revisions, folders, rendered trees and exports as facts and compilations."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_api.counted_nouns import counted
from apportion_cli.base_revision import repository_root
from apportion_cli.errors import PreconditionError
from apportion_cli.inputs import Inputs, read_policies
from apportion_cli.revision_trees import revision_tree

if TYPE_CHECKING:
    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_policy.evaluation.limits import Limits
    from apportion_review.policy_side import PolicySide


MODULES = ("apportion_review.policy_facts", "apportion_review.policy_side")


@dataclass(frozen=True, slots=True)
class SideInput:
    """One side on the command line.

    Attributes:
        name: Its name in the report.
        entry: Path of the evaluated policy.
        is_revision: Whether the policy was taken from a git revision.
    """

    name: str
    entry: str
    is_revision: bool = False


class InvalidSideError(Exception):
    """The head's policy has structural errors, so it cannot be compared."""

    def __init__(self, inputs: Inputs, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__()
        self.inputs = inputs
        self.diagnostics = diagnostics


def read_sides(
    base: str, head: str | None, policy: str, *, within: Limits, as_of: date, base_as_of: date | None
) -> tuple[PolicySide, PolicySide]:
    """Evaluate the two policies of a comparison, base and head.

    Args:
        base: A revision, or a path of a policy.
        head: Likewise; None for the working tree's.
        policy: Path of the policy in a revision, and of the default head.
        within: Limits of each evaluation.
        as_of: Date on which overrides and waivers are evaluated.
        base_as_of: The date for the base, if different.

    Raises:
        PreconditionError: If a side cannot be read, or the base has a structural error.
        InvalidSideError: If the head has a structural error.
        click.UsageError: If a revision is needed for a path outside a repository.
    """
    with ExitStack() as opened:
        work_tree = SideInput("working tree", policy)
        sides = [side_input(opened, base, policy), work_tree if head is None else side_input(opened, head, policy)]
        inputs = read_policies([side.entry for side in sides], within, MODULES)
        former = read_side(sides[0], inputs[0], base_as_of or as_of, is_head=False)
        changed = read_side(sides[1], inputs[1], as_of, is_head=True)
        return replace(former, digest=_digest(inputs[0])), replace(changed, digest=_digest(inputs[1]))


def _digest(inputs: Inputs) -> str:
    """Return a digest of the names and contents of a policy's files."""
    digest = hashlib.sha256()
    for name in sorted(inputs.files):
        content = (inputs.sources.read(name) or "").encode()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return f"sha256:{digest.hexdigest()}"


def side_input(opened: ExitStack, named: str, policy: str) -> SideInput:
    """Yield the policy of a path or a revision; a revision is checked out to a directory until `opened` closes."""
    if os.path.lexists(named) or _file_of(named).exists():
        return SideInput(named, named)
    root = repository_root(Path.cwd())
    tree = opened.enter_context(revision_tree(Path.cwd(), named))
    inside = Path(os.path.abspath(policy))  # noqa: PTH100 - links are not followed.
    if root is None or not inside.is_relative_to(root):
        raise click.UsageError(f"{policy} is outside the repository, so `{named}` does not contain it")
    return SideInput(named, str(tree / inside.relative_to(root)), is_revision=True)


def _file_of(named: str) -> Path:
    """Return the file in `file.py:name`."""
    return Path(named.rpartition(":")[0] or named)


def read_side(side: SideInput, inputs: Inputs, as_of: date, *, is_head: bool) -> PolicySide:
    """Return the facts of an evaluated policy. Raises the same errors as `read_sides`."""
    from apportion_compiler.compile import check_policy, compile_checked
    from apportion_compiler.diagnostics.diagnostic import has_errors
    from apportion_compiler.errors import UnknownTargetError
    from apportion_compiler.targets import targets_of
    from apportion_review.policy_facts import facts_of
    from apportion_review.policy_side import PolicySide

    checked = None if inputs.policy is None else check_policy(inputs.policy, as_of)
    if inputs.policy is None or checked is None or checked.graph is None:
        found = inputs.diagnostics if checked is None else checked.diagnostics
        raise _invalid(side, inputs, found, is_head=is_head)
    facts = facts_of(checked.graph)
    n_errors = sum(has_errors((finding,)) for finding in checked.diagnostics)
    if n_errors:
        count = counted(n_errors, "error")
        return PolicySide(
            side.name, as_of, inputs.policy, facts, checked, None, f"has {count} (see apportion validate)"
        )
    try:
        targets = targets_of(inputs.policy) if inputs.policy.environments else ()
    except UnknownTargetError as unknown:
        return PolicySide(side.name, as_of, inputs.policy, facts, checked, None, f"cannot be compiled: {unknown}")
    return PolicySide(side.name, as_of, inputs.policy, facts, checked, compile_checked(checked, targets))


def _invalid(side: SideInput, inputs: Inputs, found: Sequence[Diagnostic], *, is_head: bool) -> Exception:
    from apportion_compiler.diagnostics.diagnostic import Severity

    if is_head and not side.is_revision:
        return InvalidSideError(inputs, found)
    errors = [one for one in found if one.effective_severity is Severity.ERROR]
    first = errors[0]
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return PreconditionError(
        f"{side.name}: {first.at.file}:{first.at.line}: {first.code} {first.message}{more}",
        hint=f"check out {side.name} and run `apportion validate`"
        if side.is_revision
        else f"run apportion validate {side.name}",
    )

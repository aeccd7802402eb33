"""Reading a policy from a path on the command line: evaluated in a child process, returned as data.

The child is started first. This process imports its own modules while the child runs.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from apportion_cli.agreement_options import agreed
from apportion_cli.console import current
from apportion_cli.errors import PreconditionError
from apportion_cli.sources import Sources
from apportion_policy.evaluation.policy_root import project_root

if TYPE_CHECKING:
    from apportion_compiler.diagnostics.diagnostic import Diagnostic
    from apportion_policy.evaluation.fault import Fault
    from apportion_policy.evaluation.limits import Limits
    from apportion_policy.evaluation.result import EvaluatedPolicy, Rejected
    from apportion_policy.policy import Policy


# Without a policy, the failure is not a fault at a line.
_UNREADABLE = frozenset(("unreadable-input", "no-policy"))
_WARNED = "apportion.missing-layers-said"


@dataclass(frozen=True, slots=True)
class Inputs:
    """A policy, or the reason why there is none.

    Attributes:
        policy: None if the evaluation failed; `diagnostics` has the reasons.
        diagnostics: Faults of the evaluation.
        is_unreadable: Whether no policy could be read.
        entry: The policy's file, as named in findings.
        sources: Its files.
        files: Every file that was read, the entry first, as named in findings.
        printed: The policy's printed output.
    """

    policy: Policy | None
    diagnostics: tuple[Diagnostic, ...]
    is_unreadable: bool
    entry: str
    sources: Sources
    files: tuple[str, ...]
    printed: str


def read_policy(entry: str, limits: Limits) -> Inputs:
    """Evaluate a policy and return it, or the faults.

    Raises:
        PreconditionError: If this system cannot confine it; never for faults of the policy.
    """
    return read_policies((entry,), limits)[0]


def read_policies(entries: Sequence[str], limits: Limits, modules: Sequence[str] = ()) -> tuple[Inputs, ...]:
    """Evaluate policies concurrently, each in a separate sandbox. Raises the same errors as `read_policy`.

    Args:
        entries: Paths of the policies.
        limits: Limits of each evaluation.
        modules: Modules of the caller to import during the evaluation.
    """
    from apportion_policy.errors import ConfinementError
    from apportion_policy.evaluation.parent import start
    from apportion_policy.evaluation.result import EvaluatedPolicy

    for entry in entries:
        _refuse_a_way_out(entry)
    running = [start(entry, limits) for entry in entries]
    try:
        import_module("apportion_compiler.compile")
        import_module("apportion_policy.wire").prepare()
        for module in modules:
            import_module(module)
        outcomes = [one.result() for one in running]
    except BaseException as failure:
        for one in running:
            one.cancel()
        if isinstance(failure, ConfinementError):
            raise PreconditionError(str(failure), hint=failure.hint) from failure
        raise
    for outcome in outcomes:
        if outcome.layers:
            _warn_of_missing_layers(outcome.layers)
    return tuple(
        _evaluated(outcome) if isinstance(outcome, EvaluatedPolicy) else _rejected(outcome, entry)
        for entry, outcome in zip(entries, outcomes, strict=True)
    )


def _refuse_a_way_out(entry: str) -> None:
    """Reject a path inside a repository that is a symbolic link to a target outside. Raises `PreconditionError`."""
    root: Path | None = None
    lexical = Path(os.path.abspath(entry))  # noqa: PTH100 - links are what is looked for.
    for folder in (*reversed(lexical.parents), lexical):
        if root is not None and folder.is_symlink() and not folder.resolve().is_relative_to(root.resolve()):
            shown = folder.relative_to(root)
            raise PreconditionError(
                f"`{shown}` is a symbolic link that points outside the repository",
                hint="pass the path that the link points to",
            )
        if (folder / ".git").exists() and not folder.is_symlink():
            root = folder


def _warn_of_missing_layers(layers: tuple[str, ...]) -> None:
    """Warn once per run, regardless of the verbosity, about missing sandbox layers."""
    from apportion_policy.evaluation.confinement_layers import missing_layers

    context = click.get_current_context(silent=True)
    warned: set[str] = set() if context is None else context.meta.setdefault(_WARNED, set())
    for layer in missing_layers(layers):
        if layer.name not in warned:
            warned.add(layer.name)
            current().err(f"apportion: warning: without `{layer.name}`, nothing prevents the policy from {layer.stops}")


def _evaluated(outcome: EvaluatedPolicy) -> Inputs:
    from apportion_policy import wire
    from apportion_policy.errors import AgreementError
    from apportion_policy.evaluated_policy import policy_of
    from apportion_policy.evaluation.fault import Fault
    from apportion_policy.evaluation.result import Rejected

    sources = Sources(project_root(Path(outcome.tree.entry)), outcome.tree)
    try:
        policy = policy_of(outcome, sources.root, agreed())
    except AgreementError as unreadable:
        raise click.UsageError(str(unreadable)) from None
    except wire.WireError as malformed:
        # The child's data is validated again, because a hostile policy can forge it.
        fault = Fault(
            "evaluation-crashed", f"the policy corrupted the result of its evaluation: {malformed}", outcome.tree.entry
        )
        return _rejected(Rejected((fault,), outcome.layers, outcome.printed, outcome.tree), outcome.tree.entry)
    return Inputs(
        policy=policy,
        diagnostics=(),
        is_unreadable=False,
        entry=sources.name_of(outcome.tree.entry),
        sources=sources,
        files=tuple(sources.name_of(file) for file in outcome.files),
        printed=outcome.printed,
    )


def _rejected(outcome: Rejected, entry: str) -> Inputs:
    from apportion_compiler.checks.evaluation_faults import authoring_findings
    from apportion_compiler.diagnostics.diagnostic import in_order

    path = Path(outcome.tree.entry if outcome.tree is not None else os.path.abspath(entry))  # noqa: PTH100
    sources = Sources(project_root(path), outcome.tree)
    faults = tuple(_named(fault, sources, str(path)) for fault in outcome.faults)
    found = zip(faults, authoring_findings(faults), strict=True)
    return Inputs(
        policy=None,
        diagnostics=in_order(finding if fault.line else _of_whole_file(finding) for fault, finding in found),
        is_unreadable=all(fault.kind in _UNREADABLE and fault.line is None for fault in faults),
        entry=sources.name_of(str(path)),
        sources=sources,
        files=(),
        printed=outcome.printed,
    )


def _named(fault: Fault, sources: Sources, entry: str) -> Fault:
    """Return the fault with file names as in findings; a fault without a file is attributed to the entry."""
    return replace(
        fault,
        file=sources.name_of(fault.file or entry),
        related=tuple((sources.name_of(file), line, message) for file, line, message in fault.related),
    )


def _of_whole_file(finding: Diagnostic) -> Diagnostic:
    """Return a finding without the placeholder line of a whole file, which cannot be quoted."""
    return replace(finding, at=replace(finding.at, line=0, column=0))

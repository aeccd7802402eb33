"""Edits of quotas as a patch of the author's files."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from apportion_cli.sources import Sources

if TYPE_CHECKING:
    from apportion_compiler.graph.graph import PolicyGraph
    from apportion_review.fit.quota_edits import QuotaEdit


def quota_patch(graph: PolicyGraph, sources: Sources, edits: Sequence[QuotaEdit]) -> tuple[str, tuple[QuotaEdit, ...]]:
    """Return a unified diff for `git apply`, and the edits that it lacks because their value is not a literal."""
    from apportion_compiler.checks.edits import amount_edit
    from apportion_compiler.fixes import TextEdit, apply_edits, shared_places, text_edit

    shared = shared_places(graph.policy)
    by_file: dict[str, list[TextEdit]] = {}
    unpatched: list[QuotaEdit] = []
    for edit in edits:
        value = amount_edit(graph.nodes[edit.queue], graph.base, edit.field, edit.resource, edit.amount)
        made = None if value is None else text_edit(value, sources.read, shared=shared)
        if made is None:
            unpatched.append(edit)
        else:
            by_file.setdefault(made.file, []).append(made)
    return "".join(
        _diff(sources.near(name), text, apply_edits(text, made))
        for name, made in sorted(by_file.items())
        if (text := sources.read(name)) is not None
    ), tuple(unpatched)


def _diff(file: str, before: str, after: str) -> str:
    lines: Iterable[str] = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{file}", f"b/{file}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)

"""Edits of quotas as a patch of the author's files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apportion_cli.sources import Sources

if TYPE_CHECKING:
    from apportion_compiler.graph.graph import PolicyGraph
    from apportion_review.fit.quota_edits import QuotaEdit


def quota_patch(graph: PolicyGraph, sources: Sources, edits: Sequence[QuotaEdit]) -> tuple[str, tuple[QuotaEdit, ...]]:
    """Return a unified diff for `git apply`, and the edits that it lacks because their value is not a literal."""
    from apportion_compiler.checks.edits import amount_edit
    from apportion_compiler.fixes import TextEdit, apply_edits, shared_places, text_edit, unified_diff

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
        unified_diff(f"a/{sources.near(name)}", f"b/{sources.near(name)}", text, apply_edits(text, made), context=3)
        for name, made in sorted(by_file.items())
        if (text := sources.read(name)) is not None
    ), tuple(unpatched)

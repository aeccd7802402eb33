"""Edits of quotas and pool sizes as a patch of the author's files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from apportion_cli.sources import Sources

if TYPE_CHECKING:
    from apportion_compiler.diagnostics.diagnostic import ValueEdit
    from apportion_compiler.graph.graph import PolicyGraph
    from apportion_review.advise.pools import PolicyEdits, PoolEdit
    from apportion_review.fit.quota_edits import QuotaEdit


def policy_patch(graph: PolicyGraph, sources: Sources, edits: PolicyEdits) -> tuple[str, PolicyEdits]:
    """Return a unified diff for `git apply`, and the edits that it lacks because their value is not a literal."""
    from apportion_compiler.fixes import TextEdit, apply_edits, shared_places, text_edit, unified_diff
    from apportion_review.advise.pools import PolicyEdits

    shared = shared_places(graph.policy)
    by_file: dict[str, list[TextEdit]] = {}

    def is_patched(values: Sequence[ValueEdit]) -> bool:
        """Collect the text edits of values that change together, if each is a literal."""
        made = [text for value in values if (text := text_edit(value, sources.read, shared=shared)) is not None]
        if not values or len(made) < len(values):
            return False
        for text in made:
            by_file.setdefault(text.file, []).append(text)
        return True

    unpatched = PolicyEdits(
        tuple(edit for edit in edits.quotas if not is_patched(_quota_values(graph, edit))),
        tuple(edit for edit in edits.pools if not is_patched(_pool_values(graph, edit))),
    )
    return "".join(
        unified_diff(f"a/{sources.near(name)}", f"b/{sources.near(name)}", text, apply_edits(text, made), context=3)
        for name, made in sorted(by_file.items())
        if (text := sources.read(name)) is not None
    ), unpatched


def _quota_values(graph: PolicyGraph, edit: QuotaEdit) -> Sequence[ValueEdit]:
    from apportion_compiler.checks.edits import amount_edit

    value = amount_edit(graph.nodes[edit.queue], graph.base, edit.field, edit.resource, edit.amount)
    return () if value is None else (value,)


def _pool_values(graph: PolicyGraph, edit: PoolEdit) -> Sequence[ValueEdit]:
    from apportion_compiler.diagnostics.diagnostic import ValueEdit
    from apportion_review.advise.pools import size_fields

    pool = graph.declarations.pools[edit.pool]
    return [ValueEdit(pool.source, (field,), edit.max_nodes) for field in size_fields(pool)]

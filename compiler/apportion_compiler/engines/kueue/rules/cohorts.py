"""Cohort by itself: validateCohort. Unlike a ClusterQueue's, its lending limit may be above its own nominal quota."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts
from apportion_compiler.engines.kueue.rules.quotas import Rules, resource_group_verdicts, weight_verdicts
from apportion_compiler.plain_objects import mapping, name_of, text


def cohort_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a Cohort; a change is evaluated as it stands."""
    del stored
    about, spec = FieldVerdicts(index), mapping(manifest, "spec")
    parent = text(spec, "parentName")
    yield from weight_verdicts(about, spec)
    yield from resource_group_verdicts(about, spec, Rules("parent", parent is not None, lends_at_most_nominal=False))
    if parent is not None and parent == name_of(manifest):
        yield about.ignored(
            "spec.parentName",
            "Invalid",
            "it names itself, and nothing below a cycle is admitted",
            "name another cohort",
        )

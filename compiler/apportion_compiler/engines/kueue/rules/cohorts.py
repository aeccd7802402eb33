"""Rules on a single Cohort: validateCohort.

Unlike a ClusterQueue's, its lending limit may exceed its own nominal quota.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.kueue.objects import Cohort
from apportion_api.objects import read
from apportion_compiler.engine_rules.verdict import Manifest, Verdict
from apportion_compiler.engines.kueue.rules.field_validation import FieldVerdicts
from apportion_compiler.engines.kueue.rules.quotas import Rules, resource_group_verdicts, weight_verdicts


def cohort_verdicts(index: int, manifest: Manifest, stored: Manifest | None) -> Iterator[Verdict]:
    """Yield verdicts on a Cohort; an update is evaluated like a new object."""
    del stored
    cohort = read(Cohort, manifest)
    about, hangs = FieldVerdicts(index, cohort.faults), cohort.parent is not None
    yield from weight_verdicts(about, cohort.weight)
    yield from resource_group_verdicts(about, cohort.groups, Rules("parent", hangs, lends_at_most_nominal=False))
    if hangs and cohort.parent == cohort.name:
        yield about.ignored(
            "spec.parentName",
            "Invalid",
            "the cohort is its own parent, so Kueue admits no workloads below it",
            "use a different cohort",
        )

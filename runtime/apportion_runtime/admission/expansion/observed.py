"""A workload that is known only by its pods: one of a snapshot, which may lack the workload's own object.

It is not an API object: `spec.podSets` are its pods, each set with a name, a count and a template, and `spec.suspend`
holds it back. Pods that it loses are replaced if `spec.replacesPods` is set.
"""

from __future__ import annotations

from apportion_runtime.admission.expansion.expansion import Ending, Expansion, PodReplacement, slot
from apportion_runtime.admission.objects import Manifest, kind_of, name_of, nested

OBSERVED = ("apportion.dev", "ObservedWorkload")


def is_observed(workload: Manifest) -> bool:
    """Return whether a workload comes from a snapshot."""
    return kind_of(workload) == OBSERVED


def expand_observed(workload: Manifest) -> Expansion:
    """Return the pods of each pod set; the first pod of set `a` has the slot `a-0`."""
    owner = (OBSERVED[1], name_of(workload))
    slots = tuple(
        slot(f"{each['name']}-{number}", each["template"], owner)
        for each in nested(workload, "spec", "podSets") or ()
        for number in range(each["count"])
    )
    replaces = nested(workload, "spec", "replacesPods")
    return Expansion(slots, Ending.NEVER, PodReplacement.WHEN_GONE if replaces else PodReplacement.NEVER)

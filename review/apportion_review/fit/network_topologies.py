"""Pending work in a snapshot that requires a network topology, which the simulated Volcano and Koordinator ignore.

A submitted workload that requires one is rejected by the simulation itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from apportion_api.counted_nouns import agreeing, counted
from apportion_api.koordinator.names import GANG_TOPOLOGY_ANNOTATION
from apportion_api.volcano.names import (
    GROUP,
    GROUP_ANNOTATION,
    TOPOLOGY_MODE_ANNOTATION,
    TOPOLOGY_TIER_ANNOTATION,
)
from apportion_compiler.plain_objects import Manifest, name_of, text
from apportion_review.fates.workloads import of_group
from apportion_review.fit.clusters import ObservedCluster
from apportion_runtime.admission.objects import annotations_of, namespace_of, nested

_ANNOTATIONS = {
    "koordinator": (GANG_TOPOLOGY_ANNOTATION,),
    "volcano": (TOPOLOGY_MODE_ANNOTATION, TOPOLOGY_TIER_ANNOTATION),
}


def ignored_topologies(observed: ObservedCluster) -> Iterator[str]:
    """Yield a note if pending pods in the snapshot require a network topology."""
    keys = _ANNOTATIONS.get(observed.model.name, ())
    if not keys:
        return
    groups = {
        (namespace_of(made), name_of(made))
        for made in of_group(observed.snapshot or (), GROUP, "PodGroup")
        if nested(made, "spec", "networkTopology")
    }

    def requires_topology(pod: Manifest) -> bool:
        annotations = annotations_of(pod)
        group = (namespace_of(pod), annotations.get(GROUP_ANNOTATION, ""))
        return not text(pod, "spec", "nodeName") and (group in groups or any(key in annotations for key in keys))

    found = [work.owner for work in observed.workloads() if any(map(requires_topology, work.pods))]
    if found:
        first = f"{found[0].kind} {found[0].namespace}/{found[0].name}"
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield (
            f"{counted(len(found), 'pending workload')} with a network topology {agreeing(len(found), 'is', 'are')} placed "
            f"without it, because network topologies are not simulated: {first}{more}."
        )

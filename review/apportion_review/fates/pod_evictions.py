"""Pods that an engine's simulation evicts for the pending work of a snapshot, and the verdicts on their owners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apportion_review.fates.records import Fate, Verdict
from apportion_review.fates.workloads import OwnedPods
from apportion_runtime.sim.observed.eviction_record import Eviction
from apportion_runtime.sim.observed.workloads import uid_or_name

_DONE = {"preempt": "preempted", "reclaim": "reclaimed"}


@dataclass(frozen=True, slots=True)
class Evictions:
    """Evicted pods by uid.

    Attributes:
        found: The evictions.
        unsupported: Why nothing was simulated; empty after a simulation, or if no work is pending.
        is_complete: Whether the simulation ran to the end; otherwise, further evictions are possible.
    """

    found: Mapping[str, Eviction]
    unsupported: str = ""
    is_complete: bool = True

    def verdict(self, owned: OwnedPods, queues: Mapping[str, str] | None = None) -> Verdict | None:
        """Return the fate of pods of which some are evicted for pending work; None if none are evicted.

        Args:
            owned: The pods.
            queues: Displayed names by the engine's queue names; by default the latter.
        """
        found = [self.found[uid] for pod in owned.pods if (uid := uid_or_name(pod)) in self.found]
        if not found:
            return None
        first = found[0]
        queue = first.queue if queues is None else queues.get(first.queue, first.queue)
        some = "" if len(found) == len(owned.pods) else f"{len(found)} of {len(owned.pods)} pods "
        where = f", which is pending in {queue}" if queue else ", which is pending"
        return Verdict(Fate.EVICTED, f"{some}{_DONE[first.action]} for {first.by}{where}", queue)

    def note(self, engine: str) -> str:
        """Return why the engine was not simulated, as a sentence; empty if it was."""
        if not self.unsupported:
            return ""
        return (
            f"{engine} is not simulated on the snapshot ({self.unsupported}): workloads that would be evicted "
            "for pending work are reported as reclaimable on demand."
        )
